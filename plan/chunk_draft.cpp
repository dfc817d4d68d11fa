#include "plan/chunk_draft.h"

#include "core/check.h"
#include "plan/liveness.h"
#include "plan/quantized_operand.h"

namespace windtunnel {

namespace {

bool is_send(ChunkCall call) {
  return call == ChunkCall::send_output || call == ChunkCall::send_grad;
}

bool forward_direction(ChunkCall call) {
  return call == ChunkCall::receive_input || call == ChunkCall::send_output;
}

/// Under scatter/gather (SC21, 2104.04473 section 4.1) each tp rank sends its 1/tp and gathers
/// after.
bool scatters(const RoleDraft& d, ChunkCall call) {
  const bool asked =
      forward_direction(call) ? d.rules().scatter_gather_p2p : d.rules().scatter_gather_grads;
  return asked && d.plan().tp > 1 && !d.plan().sequence_parallel;
}

}  // namespace

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
    if (scatters(d_, ChunkCall::receive_input)) gather_parts(x, "input_part");
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
    if (scatters(d_, ChunkCall::send_output)) cut_into_parts("output_cut");
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
    if (scatters(d_, ChunkCall::receive_grad)) gather_parts(g, "output_grad_part");
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
    if (scatters(d_, ChunkCall::send_grad)) cut_into_parts("input_grad_cut");
  }
  if (call == ChunkCall::input_grad) return;
  units_.end_backward();
  parameters_.end_backward(d_);
}

void ChunkDraft::gather_parts(SlotId whole, const std::string& part) {
  const PartitionedTransfers& cost = d_.rules().partitioned_transfers;
  if (cost.shape_read_on_host) d_.wait_on_host(part + "_shape");
  d_.host_work(HostItem::eager_op, cost.ops_to_gather + cost.ops_to_gather_per_rank * d_.plan().tp);
  const LayerSizes z(d_);
  d_.collective({.collective = Collective::all_gather,
                 .reduce = ReduceOp::none,
                 .comm = d_.comm("tp"),
                 .module = Module::pipeline},
                d_.tp_part(whole, part), whole, z.rows * z.hidden);
}

void ChunkDraft::cut_into_parts(const std::string& name) {
  const PartitionedTransfers& cost = d_.rules().partitioned_transfers;
  d_.host_work(HostItem::eager_op, cost.ops_to_cut);
  if (cost.shape_written_by_host) d_.wait_on_host(name + "_shape");
}

/// Between neighbours on one rank nothing is sent: the sender's segment hands its tensor over.
void ChunkDraft::draft_transfers(const std::vector<std::unique_ptr<ChunkDraft>>& chunks) {
  d_.chunk = place_.local;
  const auto neighbour = [&](int local) -> const ChunkDraft& {
    return *chunks[static_cast<std::size_t>(local)];
  };
  if (input_ != kNone && place_.previous_local < 0)
    draft_receive(ChunkCall::receive_input, input_, place_.previous_role);
  if (output_ != kNone) {
    if (place_.next_local < 0) {
      draft_send(ChunkCall::send_output, output_, place_.next_role);
    } else {
      draft_hand_over(ChunkCall::send_output, output_, neighbour(place_.next_local).input_);
    }
  }
  if (output_grad_ != kNone && place_.next_local < 0)
    draft_receive(ChunkCall::receive_grad, output_grad_, place_.next_role);
  if (input_grad_ != kNone) {
    if (place_.previous_local < 0) {
      draft_send(ChunkCall::send_grad, input_grad_, place_.previous_role);
    } else {
      draft_hand_over(ChunkCall::send_grad, input_grad_,
                      neighbour(place_.previous_local).output_grad_);
    }
  }
}

/// A framework passes the tensor itself on; here each chunk's frame has its own, and the copy
/// between them costs no traffic.
void ChunkDraft::draft_hand_over(ChunkCall call, SlotId from, SlotId to) {
  const bool fwd = forward_direction(call);
  open(call, fwd ? "hand_over_output" : "hand_over_grad");
  d_.phase = fwd ? Phase::forward : Phase::backward;
  d_.slot(to).space = Space::frame;
  d_.taken_elsewhere.insert(to);
  DraftOp take;
  take.op = {.kind = OpKind::alloc, .phase = d_.phase, .module = Module::pipeline};
  take.operands = {to};
  d_.segment->ops.push_back(take);
  d_.kernel({.kernel = Kernel::hand_over,
             .dims = {d_.slot(from).elements},
             .module = Module::pipeline,
             .launches = 0},
            {from}, {to});
}

/// Whether a transfer goes from a rank to a higher one, or around the loop as if it did.
bool ChunkDraft::is_up(ChunkCall call) const {
  const bool with_next = call == ChunkCall::send_output || call == ChunkCall::receive_grad;
  const bool fwd = forward_direction(call);
  if (d_.plan().placement == ChunkPlacement::loop) return fwd;
  const int peer = with_next ? place_.next_role : place_.previous_role;
  const bool peer_above = peer > d_.role.pipeline_rank;
  return is_send(call) == peer_above;
}

/// Asynchronous transfers have a stream per neighbour and direction; blocking ones run on the
/// compute stream.
Stream ChunkDraft::transfer_stream(ChunkCall call) const {
  if (!d_.plan().overlap_pp) return Stream::compute;
  if (is_up(call)) return is_send(call) ? Stream::pp_send_fwd : Stream::pp_recv_fwd;
  return is_send(call) ? Stream::pp_send_bwd : Stream::pp_recv_bwd;
}

std::uint32_t ChunkDraft::transfer_comm(ChunkCall call) const {
  return d_.comm(is_up(call) ? "pp_fwd" : "pp_bwd");
}

void ChunkDraft::draft_receive(ChunkCall call, SlotId slot, int peer) {
  const bool fwd = forward_direction(call);
  open(call, fwd ? "receive_input" : "receive_grad");
  d_.phase = fwd ? Phase::forward : Phase::backward;
  const Stream stream = transfer_stream(call);
  const SlotId target =
      scatters(d_, call) ? d_.tp_part(slot, fwd ? "input_part" : "output_grad_part") : slot;
  d_.host_work(HostItem::eager_op,
               d_.rules().host_ops_per_receive * (fwd ? d_.rules().tensors_per_activation : 1));
  // The buffer may have been used before by work on the compute stream.
  d_.order({.to = stream, .event = "receive_ready", .per_frame = true});
  d_.point_to_point(OpKind::recv, target, peer, transfer_comm(call), stream);
  if (stream != Stream::compute) d_.record(fwd ? received_input_ : received_grad_, stream);
}

void ChunkDraft::draft_send(ChunkCall call, SlotId slot, int peer) {
  const bool fwd = forward_direction(call);
  open(call, fwd ? "send_output" : "send_grad");
  d_.phase = fwd ? Phase::forward : Phase::backward;
  const Stream stream = transfer_stream(call);
  const SlotId source =
      scatters(d_, call) ? d_.tp_part(slot, fwd ? "output_part" : "input_grad_part") : slot;
  d_.host_work(HostItem::eager_op,
               d_.rules().host_ops_per_send * (fwd ? d_.rules().tensors_per_activation : 1));
  if (stream == Stream::compute) {
    d_.point_to_point(OpKind::send, source, peer, transfer_comm(call), stream);
    return;
  }
  d_.order({.to = stream, .event = "send_ready", .per_frame = true});
  const std::uint32_t sent = d_.event("sent", true);
  d_.point_to_point(OpKind::send, source, peer, transfer_comm(call), stream);
  d_.record(sent, stream);
  open(fwd ? ChunkCall::finish_send_output : ChunkCall::finish_send_grad,
       fwd ? "finish_send_output" : "finish_send_grad");
  d_.wait(sent, Stream::compute, {slot});
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
