#include "plan/chunk_draft.h"

#include "plan/liveness.h"
#include "plan/quantized_operand.h"

namespace windtunnel {

ChunkDraft::ChunkDraft(RoleDraft& draft, const ChunkPlace& place)
    : d_(draft), place_(place), parameters_(draft), units_(draft, parameters_) {
  for (auto& s : stored_) s = {kNone, kNone};
  const Chunk& c = place_.chunk;
  d_.chunk = place_.local;
  if (c.has_embedding) {
    embedding_.emplace(d_, parameters_);
    embedding_->declare_parameters();
  }
  layers_.reserve(static_cast<std::size_t>(c.layer_end - c.layer_begin));
  for (int layer = c.layer_begin; layer < c.layer_end; ++layer) {
    layers_.emplace_back(
        d_, parameters_,
        LayerPlace{
            .layer = layer,
            .index_in_stage = place_.first_layer_in_stage + layer - c.layer_begin,
            .input_is_constant = d_.plan().lora && c.has_embedding && layer == c.layer_begin});
    layers_.back().declare_parameters();
  }
  if (c.has_head) declare_head();
  const bool is_first = d_.role.pipeline_rank == 0 && place_.local == 0;
  // Stages that hold the same part of two model copies have the same buckets.
  const bool first_only = d_.rules().buckets_on_first_stage_only && d_.plan().model_copies() == 1;
  const bool one_bucket = !d_.plan().overlap_grad_reduce || (first_only && !is_first);
  parameters_.lay_out(d_, one_bucket);
  units_.place();
  if (embedding_) units_.add_part(kEmbeddingUnit);
  for (int layer = c.layer_begin; layer < c.layer_end; ++layer) units_.add_part(layer);
  for (const auto& p : predictions_) units_.add_part(p->layer());
  if (head_) units_.add_part(kHeadUnit);
}

void ChunkDraft::declare_head() {
  const Chunk& c = place_.chunk;
  head_.emplace(d_, parameters_);
  head_->declare_norm();
  const bool tied = d_.model().tied_embeddings;
  std::optional<ParameterId> word;
  if (c.has_embedding) {
    word = embedding_->word_embedding();
  } else if (d_.copies_word_embedding()) {
    word = declare_word_embedding(d_, parameters_, WordEmbedding::copy);
  }
  for (int depth = 1; depth <= d_.model().mtp_layers; ++depth) {
    const int index = place_.first_layer_in_stage + c.layer_end - c.layer_begin + depth - 1;
    predictions_.push_back(std::make_unique<TokenPrediction>(d_, parameters_, depth, index));
    predictions_.back()->declare_parameters(*word);
  }
  if (tied) {
    head_->share_weight(*word);
  } else {
    head_->declare_weight();
  }
  for (const auto& p : predictions_) p->share_output(head_->weight());
}

SegmentDraft& ChunkDraft::open(ChunkCall call, std::string_view name) {
  SegmentDraft& s = drafts_[static_cast<std::size_t>(call)];
  s.name = std::string(name) + ".chunk" + std::to_string(place_.local);
  d_.segment = &s;
  return s;
}

void ChunkDraft::draft_passes(SlotId loss) {
  d_.chunk = place_.local;
  draft_forward(loss);
  const ShardedUnits::State after_forward = units_.state();
  draft_backward(ChunkCall::backward);
  ActivationOffload(d_).place(drafts_[static_cast<std::size_t>(ChunkCall::forward)],
                              drafts_[static_cast<std::size_t>(ChunkCall::backward)], spans_);
  if (d_.plan().splits_backward) {
    units_.restore(after_forward);
    parameters_.restart_backward();
    draft_split_backward();
  }
  draft_reductions();
}

/// Input gradients first; matrix products of weights, and what waits for them, in a segment of
/// their own.
void ChunkDraft::draft_split_backward() {
  std::vector<DeferredWeightGrad> deferred;
  parameters_.defer(&deferred);
  const SlotId sent = input_grad_;
  draft_backward(ChunkCall::input_grad);
  parameters_.defer(nullptr);
  // Both ways make the tensor that is sent.
  for (DraftOp& op : drafts_[static_cast<std::size_t>(ChunkCall::input_grad)].ops) {
    op.operands.replace(input_grad_, sent);
    op.holds.replace(input_grad_, sent);
  }
  input_grad_ = sent;
  open(ChunkCall::weight_grad, "weight_grad");
  d_.phase = Phase::weight_grad;
  draft_deferred(d_, parameters_, deferred);
  parameters_.start_put_off_reductions(d_);
  units_.end_backward();
  parameters_.end_backward(d_);
}

void ChunkDraft::place_memory() {
  d_.chunk = place_.local;
  SegmentPath whole, split;
  for (std::size_t i = 0; i < drafts_.size(); ++i) {
    const auto call = static_cast<ChunkCall>(i);
    const bool half = call == ChunkCall::input_grad || call == ChunkCall::weight_grad;
    if (!half) whole.push_back(&drafts_[i]);
    if (call != ChunkCall::backward) split.push_back(&drafts_[i]);
  }
  std::vector<SegmentPath> paths{whole};
  if (d_.plan().splits_backward) paths.push_back(split);
  insert_allocations(d_, paths);
}

void ChunkDraft::draft_forward(SlotId loss) {
  open(ChunkCall::forward, "forward");
  d_.phase = Phase::forward;
  const LayerSizes z(d_);
  begin_amaxes(d_, "amaxes_forward", layers_.size());
  units_.begin_forward();
  SlotId x = kNone;
  if (embedding_) {
    units_.enter(kEmbeddingUnit);
    x = embedding_->forward();
    units_.leave(kEmbeddingUnit);
  } else {
    x = input_ = d_.tensor("input", z.norm_rows * z.hidden, z.act);
    if (d_.plan().overlap_pp && place_.previous_local < 0) {
      received_input_ = d_.event("received_input", true);
      d_.wait(received_input_, Stream::compute, {x});
    }
    if (scatters(ChunkCall::receive_input)) gather_parts(x, "input_part");
  }
  for (TransformerLayer& layer : layers_) {
    units_.enter(layer.number());
    LayerSpan& span = spans_.emplace_back();
    span.layer = static_cast<std::int16_t>(layer.number());
    x = layer.forward(x);
    span.forward_end = d_.segment->ops.size();
    units_.leave(layer.number());
  }
  reduce_amaxes(d_);
  if (head_) {
    units_.enter(kHeadUnit);
    draft_head(x, loss);
    units_.leave(kHeadUnit);
  } else {
    output_ = x;
    if (scatters(ChunkCall::send_output)) cut_into_parts("output_cut");
  }
  units_.end_forward();
}

/// Every depth's hidden state, then the losses, the model's own last.
void ChunkDraft::draft_head(SlotId hidden, SlotId loss) {
  SlotId x = head_->normalize(hidden);
  begin_amaxes(d_, "amaxes_predictions", predictions_.size());
  for (const auto& p : predictions_) {
    units_.enter(p->layer());
    x = p->forward(x);
    units_.leave(p->layer());
  }
  reduce_amaxes(d_);
  for (const auto& p : predictions_) p->forward_loss(loss);
  head_->forward_loss(loss);
}

/// The same backwards. A depth's hidden state has the gradients of its loss and of the next depth.
SlotId ChunkDraft::draft_head_backward() {
  std::vector<SlotId> grads(predictions_.size() + 1);  // of the hidden states, by depth
  grads[0] = head_->backward_loss();
  for (std::size_t i = predictions_.size(); i-- > 0;)
    grads[i + 1] = predictions_[i]->backward_loss();
  begin_amaxes(d_, "amaxes_predictions_backward", predictions_.size());
  for (std::size_t i = predictions_.size(); i-- > 0;) {
    units_.enter(predictions_[i]->layer());
    const SlotId before = predictions_[i]->backward(grads[i + 1]);
    units_.leave(predictions_[i]->layer());
    d_.kernel(
        {.kernel = Kernel::add, .dims = {d_.slot(before).elements}, .module = Module::residual},
        {grads[i], before}, {grads[i]});
  }
  reduce_amaxes(d_);
  return head_->backward_norm(grads.front());
}

void ChunkDraft::draft_backward(ChunkCall call) {
  open(call, call == ChunkCall::backward ? "backward" : "input_grad");
  d_.phase = Phase::backward;
  const LayerSizes z(d_);
  SlotId g = kNone;
  if (head_) {
    units_.enter(kHeadUnit);
    g = draft_head_backward();
    units_.leave(kHeadUnit);
  } else {
    if (output_grad_ == kNone) {
      output_grad_ = d_.tensor("output_grad", z.norm_rows * z.hidden, z.act);
      if (d_.plan().overlap_pp) received_grad_ = d_.event("received_grad", true);
    }
    g = output_grad_;
    if (d_.plan().overlap_pp && place_.next_local < 0)
      d_.wait(received_grad_, Stream::compute, {g});
    if (scatters(ChunkCall::receive_grad)) gather_parts(g, "output_grad_part");
  }
  begin_amaxes(d_, "amaxes_backward", layers_.size());
  for (std::size_t i = layers_.size(); i-- > 0;) {
    units_.enter(layers_[i].number());
    spans_[i].backward_begin = d_.segment->ops.size();
    g = layers_[i].backward(g);
    spans_[i].backward_end = d_.segment->ops.size();
    units_.leave(layers_[i].number());
  }
  reduce_amaxes(d_);
  if (embedding_ && !d_.plan().lora) {
    units_.enter(kEmbeddingUnit);
    embedding_->backward(g);
    units_.leave(kEmbeddingUnit);
  } else if (embedding_) {
    units_.pass_by(kEmbeddingUnit);
  } else {
    input_grad_ = g;
    if (scatters(ChunkCall::send_grad)) cut_into_parts("input_grad_cut");
  }
  if (call == ChunkCall::input_grad) return;
  units_.end_backward();
  parameters_.end_backward(d_);
}

/// Whole gradients are reduced when the rank before has the last one it waits for
/// (torch/distributed/pipelining/schedules.py: behind the schedule's last send, REDUCE_GRAD).
void ChunkDraft::draft_reductions() {
  if (!d_.plan().accumulates_whole()) return;
  open(ChunkCall::reduce_grads, "reduce_grads");
  d_.phase = Phase::grad_sync;
  units_.reduce_whole_gradients();
}

std::uint32_t ChunkDraft::segment(ChunkCall call, bool grouped) {
  const std::size_t i = static_cast<std::size_t>(call);
  if (drafts_[i].ops.empty()) return kNone;
  std::uint32_t& stored = stored_[i][grouped ? 1 : 0];
  if (stored != kNone) return stored;
  SegmentDraft draft = drafts_[i];
  if (grouped) {
    for (DraftOp& op : draft.ops) {
      if (is_message(op.op.kind)) op.op.grouped = true;
    }
  }
  stored = d_.writer.store_segment(draft);
  return stored;
}

}  // namespace windtunnel
