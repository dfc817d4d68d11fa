#include "plan/chunk_draft.h"

// How a chunk hands its output and its input gradient to its neighbours.

namespace windtunnel {

namespace {

bool is_send(ChunkCall call) {
  return call == ChunkCall::send_output || call == ChunkCall::send_grad;
}

bool forward_direction(ChunkCall call) {
  return call == ChunkCall::receive_input || call == ChunkCall::send_output;
}

}  // namespace

bool ChunkDraft::scatters(ChunkCall call) const {
  const bool asked =
      forward_direction(call) ? d_.rules().scatter_gather_p2p : d_.rules().scatter_gather_grads;
  return asked && d_.plan().tp > 1 && !d_.plan().sequence_parallel;
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
      scatters(call) ? d_.tp_part(slot, fwd ? "input_part" : "output_grad_part") : slot;
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
      scatters(call) ? d_.tp_part(slot, fwd ? "output_part" : "input_grad_part") : slot;
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

}  // namespace windtunnel
