#include "plan/chunk_draft.h"

#include "core/check.h"
#include "plan/liveness.h"
#include "plan/quantized_operand.h"

namespace windtunnel {

namespace {

/// Asynchronous transfers have a stream per direction; blocking ones run on the compute stream.
Stream transfer_stream(const RoleDraft& d, ChunkCall call) {
  if (!d.plan().overlap_pp) return Stream::compute;
  switch (call) {
    case ChunkCall::receive_input:
      return Stream::pp_recv_fwd;
    case ChunkCall::send_output:
      return Stream::pp_send_fwd;
    case ChunkCall::receive_grad:
      return Stream::pp_recv_bwd;
    default:
      return Stream::pp_send_bwd;
  }
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
    : d_(draft), place_(place), units_(draft, parameters_) {
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
        LayerPlace{.layer = layer,
                   .index_in_stage = place_.first_layer_in_stage + layer - c.layer_begin});
    layers_.back().declare_parameters();
  }
  if (c.has_head) {
    head_.emplace(d_, parameters_);
    const bool shared = c.has_embedding && d_.model().tied_embeddings;
    const ParameterId word = shared ? embedding_->word_embedding() : 0;
    head_->declare_parameters(shared ? &word : nullptr);
  }
  const bool one_bucket =
      !d_.plan().overlap_grad_reduce ||
      (d_.rules().buckets_on_first_stage_only && (d_.role.pipeline_rank > 0 || place_.local > 0));
  parameters_.lay_out(d_, one_bucket);
  units_.place();
  if (embedding_) units_.add_part(kEmbeddingUnit);
  for (int layer = c.layer_begin; layer < c.layer_end; ++layer) units_.add_part(layer);
  if (head_) units_.add_part(kHeadUnit);
}

SegmentDraft& ChunkDraft::open(ChunkCall call, std::string_view name) {
  SegmentDraft& s = drafts_[static_cast<std::size_t>(call)];
  s.name = std::string(name) + ".chunk" + std::to_string(place_.local);
  d_.segment = &s;
  return s;
}

void ChunkDraft::draft_segments(SlotId loss) {
  d_.chunk = place_.local;
  draft_forward(loss);
  draft_backward();
  draft_transfers();
  std::vector<SegmentDraft*> all;
  for (SegmentDraft& s : drafts_) all.push_back(&s);
  insert_allocations(d_, all);
}

void ChunkDraft::draft_forward(SlotId loss) {
  open(ChunkCall::forward, "forward");
  d_.phase = Phase::forward;
  const LayerSizes z(d_);
  begin_amaxes(d_, "amaxes_forward", 8 * static_cast<std::int64_t>(layers_.size()));
  units_.begin_forward();
  SlotId x = kNone;
  if (embedding_) {
    units_.enter(kEmbeddingUnit);
    x = embedding_->forward();
    units_.leave(kEmbeddingUnit);
  } else {
    x = input_ = d_.tensor("input", z.norm_rows * z.hidden, z.act);
    if (d_.plan().overlap_pp) {
      received_input_ = d_.event("received_input", true);
      d_.wait(received_input_, Stream::compute, {x});
    }
    if (scatters(d_, ChunkCall::receive_input)) gather_parts(x, "input_part");
  }
  for (TransformerLayer& layer : layers_) {
    units_.enter(layer.number());
    x = layer.forward(x);
    units_.leave(layer.number());
  }
  reduce_amaxes(d_);
  if (head_) {
    units_.enter(kHeadUnit);
    head_->forward(x, loss);
    units_.leave(kHeadUnit);
  } else {
    output_ = x;
    if (scatters(d_, ChunkCall::send_output)) cut_into_parts("output_cut");
  }
  units_.end_forward();
}

void ChunkDraft::draft_backward() {
  open(ChunkCall::backward, "backward");
  d_.phase = Phase::backward;
  const LayerSizes z(d_);
  SlotId g = kNone;
  if (head_) {
    units_.enter(kHeadUnit);
    g = head_->backward();
    units_.leave(kHeadUnit);
  } else {
    g = output_grad_ = d_.tensor("output_grad", z.norm_rows * z.hidden, z.act);
    if (d_.plan().overlap_pp) {
      received_grad_ = d_.event("received_grad", true);
      d_.wait(received_grad_, Stream::compute, {g});
    }
    if (scatters(d_, ChunkCall::receive_grad)) gather_parts(g, "output_grad_part");
  }
  begin_amaxes(d_, "amaxes_backward", 4 * static_cast<std::int64_t>(layers_.size()));
  for (std::size_t i = layers_.size(); i-- > 0;) {
    units_.enter(layers_[i].number());
    g = layers_[i].backward(g);
    units_.leave(layers_[i].number());
  }
  reduce_amaxes(d_);
  if (embedding_) {
    units_.enter(kEmbeddingUnit);
    embedding_->backward(g);
    units_.leave(kEmbeddingUnit);
  } else {
    input_grad_ = g;
    if (scatters(d_, ChunkCall::send_grad)) cut_into_parts("input_grad_cut");
  }
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
                partial_view(whole, part), whole, z.rows * z.hidden);
}

void ChunkDraft::cut_into_parts(const std::string& name) {
  const PartitionedTransfers& cost = d_.rules().partitioned_transfers;
  d_.host_work(HostItem::eager_op, cost.ops_to_cut);
  if (cost.shape_written_by_host) d_.wait_on_host(name + "_shape");
}

SlotId ChunkDraft::partial_view(SlotId slot, std::string_view name) {
  const std::int64_t part = d_.slot(slot).elements / d_.plan().tp;
  const SlotId view = d_.view(slot, name, 0, part);
  d_.slot(view).tp_stride = part;
  return view;
}

void ChunkDraft::draft_transfers() {
  if (input_ != kNone) draft_receive(ChunkCall::receive_input, input_, place_.previous_role);
  if (output_ != kNone) draft_send(ChunkCall::send_output, output_, place_.next_role);
  if (output_grad_ != kNone) draft_receive(ChunkCall::receive_grad, output_grad_, place_.next_role);
  if (input_grad_ != kNone) draft_send(ChunkCall::send_grad, input_grad_, place_.previous_role);
}

void ChunkDraft::draft_receive(ChunkCall call, SlotId slot, int peer) {
  const bool fwd = forward_direction(call);
  open(call, fwd ? "receive_input" : "receive_grad");
  d_.phase = fwd ? Phase::forward : Phase::backward;
  const Stream stream = transfer_stream(d_, call);
  const SlotId target =
      scatters(d_, call) ? partial_view(slot, fwd ? "input_part" : "output_grad_part") : slot;
  d_.host_work(HostItem::eager_op,
               d_.rules().host_ops_per_receive * (fwd ? d_.rules().tensors_per_activation : 1));
  if (stream != Stream::compute) {
    // The buffer may have been used before by work on the compute stream.
    const std::uint32_t ready = d_.event("receive_ready", true);
    d_.record(ready, Stream::compute);
    d_.wait(ready, stream);
  }
  d_.point_to_point(OpKind::recv, target, peer, d_.comm(fwd ? "pp_fwd" : "pp_bwd"), stream);
  if (stream != Stream::compute) d_.record(fwd ? received_input_ : received_grad_, stream);
}

void ChunkDraft::draft_send(ChunkCall call, SlotId slot, int peer) {
  const bool fwd = forward_direction(call);
  open(call, fwd ? "send_output" : "send_grad");
  d_.phase = fwd ? Phase::forward : Phase::backward;
  const Stream stream = transfer_stream(d_, call);
  const SlotId source =
      scatters(d_, call) ? partial_view(slot, fwd ? "output_part" : "input_grad_part") : slot;
  d_.host_work(HostItem::eager_op,
               d_.rules().host_ops_per_send * (fwd ? d_.rules().tensors_per_activation : 1));
  if (stream == Stream::compute) {
    d_.point_to_point(OpKind::send, source, peer, d_.comm(fwd ? "pp_fwd" : "pp_bwd"), stream);
    return;
  }
  const std::uint32_t ready = d_.event("send_ready", true);
  const std::uint32_t sent = d_.event("sent", true);
  d_.record(ready, Stream::compute);
  d_.wait(ready, stream);
  d_.point_to_point(OpKind::send, source, peer, d_.comm(fwd ? "pp_fwd" : "pp_bwd"), stream);
  d_.record(sent, stream);
  open(fwd ? ChunkCall::finish_send_output : ChunkCall::finish_send_grad,
       fwd ? "finish_send_output" : "finish_send_grad");
  d_.wait(sent, Stream::compute, {slot});
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
