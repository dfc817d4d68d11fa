#include "tests/program/planted.h"

#include <array>

#include "tests/program/program_edits.h"

namespace windtunnel {

namespace {

Choice is(OpKind kind) {
  return [kind](const ChosenOp& o) { return o.op.kind == kind; };
}
Choice is_collective(const char* comm, Phase phase) {
  return [=](const ChosenOp& o) {
    return o.op.kind == OpKind::collective && o.comm() == comm && o.op.phase == phase;
  };
}
Choice is_kernel(Kernel kernel) {
  return [=](const ChosenOp& o) { return o.kernel() == kernel; };
}
Choice is_host_update() {
  return [](const ChosenOp& o) {
    return o.kernel() == Kernel::adamw && (o.program.shapes[o.op.shape].attr & kOnHost) != 0;
  };
}
Choice is_memory(OpKind kind, Space space) {
  return [=](const ChosenOp& o) { return o.op.kind == kind && o.slot().space == space; };
}
Choice is_event(OpKind kind, Stream stream, Phase phase) {
  return [=](const ChosenOp& o) {
    return o.op.kind == kind && o.op.stream == stream && o.op.phase == phase;
  };
}
Choice within(const char* segment, Choice choice) {
  return [=](const ChosenOp& o) { return o.segment_name().rfind(segment, 0) == 0 && choice(o); };
}
/// Transfers' events stand outside the layers, tensor-parallel ones in them.
Choice in_a_layer(Choice choice) {
  return [=](const ChosenOp& o) { return o.op.layer >= 0 && choice(o); };
}
Choice after(std::uint32_t op, Choice choice) {
  return [=](const ChosenOp& o) { return &o.op > &o.program.ops[op] && choice(o); };
}

SlotId& operand(Program& p, std::uint32_t op, std::size_t n) {
  return p.refs[p.ops[op].ref_begin + n];
}

constexpr std::array kPlanted{
    // --- indices ---
    Planted{"SlotOutOfRange", "dp", "indices", "names a slot",
            [](Program& p) { operand(p, find_op(p, 0, is(OpKind::alloc)), 0) = 1u << 20; }},
    Planted{"SegmentOutOfRange", "dp", "indices", "spans ops",
            [](Program& p) { p.segments[1].op_end = 1u << 20; }},
    Planted{"CallOfNoChunk", "dp", "indices", "a call of segment",
            [](Program& p) { p.roles[0].calls[1].chunk = 7; }},
    Planted{"SegmentOfTwoChunks", "interleaved", "indices", "is called for chunk",
            [](Program& p) { p.roles[0].calls[find_call(p, 0, "forward.chunk0", 2)].chunk = 1; }},
    Planted{"FrameEventOutsideFrames", "asynchronous", "indices", "names an event of a frame",
            [](Program& p) {
              const std::uint32_t op =
                  find_op(p, 0, is_event(OpKind::record, Stream::pp_send_fwd, Phase::forward));
              const std::uint32_t begin =
                  find_op(p, 0, [](const ChosenOp& o) { return o.segment_name() == "step_begin"; });
              p.ops[begin] = p.ops[op];
            }},
    // --- operands ---
    Planted{"CollectiveOfAnotherSize", "tp", "operands", "another size",
            [](Program& p) {
              p.ops[find_op(p, 0, is_collective("tp", Phase::forward))].elements *= 2;
            }},
    Planted{"CollectiveOfAnotherType", "tp", "operands", "another type",
            [](Program& p) {
              p.ops[find_op(p, 0, is_collective("tp", Phase::forward))].dtype = Dtype::fp64;
            }},
    Planted{"GatherThatReduces", "tp", "operands", "reduction",
            [](Program& p) {
              p.ops[find_op(p, 0, [](const ChosenOp& o) {
                 return o.op.kind == OpKind::collective &&
                        o.op.collective == Collective::all_gather;
               })].reduce = ReduceOp::sum;
            }},
    Planted{"SendToItself", "1f1b", "operands", "peer is itself",
            [](Program& p) { p.ops[find_op(p, 0, is(OpKind::send))].peer = 0; }},
    Planted{"ShardGatheredOverWrongGroup", "overlapped", "operands", "another size",
            [](Program& p) {
              p.ops[find_op(p, 0, is_collective("dp", Phase::param_sync))].comm =
                  comm_named(p, "world");
            }},
    // --- views ---
    Planted{"ViewBeyondItsParent", "dp", "views", "reaches outside",
            [](Program& p) {
              for (Slot& s : p.roles[0].slots) {
                if (s.parent != kNone) s.offset += p.roles[0].slots[s.parent].elements;
              }
            }},
    // --- places ---
    Planted{"DeviceKernelOnHostMemory", "offload", "places", "the device uses host memory",
            [](Program& p) {
              Shape device = p.shapes[p.ops[find_op(p, 0, is_host_update())].shape];
              device.attr = static_cast<std::uint16_t>(device.attr & ~kOnHost);
              p.shapes.push_back(device);
              p.ops[find_op(p, 0, is_host_update())].shape =
                  static_cast<std::uint32_t>(p.shapes.size() - 1);
            }},
    Planted{"CopyTheOtherWay", "offload", "places", "does not go the way it says",
            [](Program& p) {
              const std::uint32_t op = find_op(p, 0, is_kernel(Kernel::to_device));
              std::swap(operand(p, op, 0), operand(p, op, 1));
            }},
    // --- calls ---
    Planted{"ForwardLeftOut", "1f1b", "calls", "lacks the forward",
            [](Program& p) { drop_call(p, 1, find_call(p, 1, "forward", 2)); }},
    Planted{"ForwardInsteadOfBackward", "1f1b", "calls", "repeats the forward",
            [](Program& p) {
              p.roles[3].calls[find_call(p, 3, "backward", 1)].segment =
                  p.roles[3].calls[find_call(p, 3, "forward", 1)].segment;
            }},
    Planted{"BackwardBeforeForward", "1f1b", "calls", "before the forward",
            [](Program& p) {
              swap_calls(p, 3, find_call(p, 3, "forward", 1), find_call(p, 3, "backward", 1));
            }},
    Planted{"ForwardBeforeItsInput", "1f1b", "calls", "before the receive of its input",
            [](Program& p) {
              swap_calls(p, 1, find_call(p, 1, "forward"), find_call(p, 1, "receive_input"));
            }},
    Planted{
        "FirstMicroBatchNotMarked", "dp", "calls", "marked as the first",
        [](Program& p) { p.roles[0].calls[find_call(p, 0, "forward")].first_micro_batch = false; }},
    Planted{
        "TwoLastMicroBatches", "dp", "calls", "marked as the last",
        [](Program& p) { p.roles[0].calls[find_call(p, 0, "backward")].last_micro_batch = true; }},
    // --- transfers ---
    Planted{"SendsOutOfOrder", "gpipe", "transfers", "another micro-batch",
            [](Program& p) {
              p.roles[0].calls[find_call(p, 0, "send_output", 0)].micro_batch = 1;
              p.roles[0].calls[find_call(p, 0, "send_output", 1)].micro_batch = 0;
            }},
    Planted{"ReceiveLeftOut", "1f1b", "transfers", "which receives",
            [](Program& p) { drop_op(p, find_op(p, 1, is(OpKind::recv))); }},
    Planted{"SentToAnotherChunk", "interleaved", "transfers", "not its neighbour",
            [](Program& p) {
              const std::size_t a = find_call(p, 1, "receive_input.chunk0"),
                                b = find_call(p, 1, "receive_input.chunk1");
              for (const std::size_t call : {a, b}) start_alone(p, 1, call);
              swap_calls(p, 1, a, b);
            }},
    // --- groups ---
    Planted{"SentMemoryHandedToAReceiveOfItsGroup", "1f1b", "groups", "given back before it",
            [](Program& p) {
              const std::size_t receive = find_call(p, 0, "receive_grad");
              start_alone(p, 0, receive + 1);
              const Segment& s = p.segments[p.roles[0].calls[receive].segment];
              for (std::uint32_t i = s.op_begin; i < s.op_end; ++i) p.ops[i].grouped = true;
              swap_calls(p, 0, receive, receive + 1);
            }},
    // --- collectives ---
    Planted{
        "NormReducedByOneStageLess", "1f1b", "collectives", "issues 0",
        [](Program& p) { drop_op(p, find_op(p, 2, is_collective("model", Phase::optimizer))); }},
    Planted{"NormReducedInAnotherWay", "1f1b", "collectives", "another reduction",
            [](Program& p) {
              p.ops[find_op(p, 2, is_collective("model", Phase::optimizer))].reduce = ReduceOp::max;
            }},
    Planted{"TiedReductionOnAMiddleStage", "tied", "collectives", "no member of",
            [](Program& p) {
              p.ops[find_op(p, 1, is_collective("model", Phase::optimizer))].comm =
                  comm_named(p, "embedding");
            }},
    // --- memory ---
    Planted{"ScratchNotGivenBack", "dp", "memory", "not given back",
            [](Program& p) { drop_op(p, find_op(p, 0, is_memory(OpKind::free, Space::scratch))); }},
    Planted{
        "ScratchUsedUntaken", "dp", "memory", "before it is taken",
        [](Program& p) { drop_op(p, find_op(p, 0, is_memory(OpKind::alloc, Space::scratch))); }},
    Planted{"ScratchGivenBackTooEarly", "dp", "memory", "after it was given back",
            [](Program& p) {
              const std::uint32_t at = find_op(p, 0, is_memory(OpKind::free, Space::scratch));
              move_op(p, at, at - 1);
            }},
    Planted{"FrameNeverGivenBack", "dp", "memory", "never given back",
            [](Program& p) { drop_op(p, find_op(p, 0, is_memory(OpKind::free, Space::frame))); }},
    Planted{"FrameUsedUntaken", "dp", "memory", "before it is taken",
            [](Program& p) { drop_op(p, find_op(p, 0, is_memory(OpKind::alloc, Space::frame))); }},
    Planted{"FrameGivenBackTwice", "dp", "memory", "after it was given back",
            [](Program& p) { repeat_op(p, find_op(p, 0, is_memory(OpKind::free, Space::frame))); }},
    Planted{
        "FrameTakenTwice", "dp", "memory", "taken a second time",
        [](Program& p) { repeat_op(p, find_op(p, 0, is_memory(OpKind::alloc, Space::frame))); }},
    Planted{"FrameGivenBackInForward", "1f1b", "memory", "after it was given back",
            [](Program& p) {
              const std::uint32_t free = find_op(p, 1, [](const ChosenOp& o) {
                return o.op.kind == OpKind::free && o.slot().space == Space::frame &&
                       o.segment_name() == "backward.chunk0";
              });
              const std::uint32_t last = find_op(p, 1, [](const ChosenOp& o) {
                return o.segment_name() == "forward.chunk0" &&
                       &o.op + 1 == o.program.ops.data() + o.segment.op_end;
              });
              p.ops[last] = p.ops[free];
            }},
    Planted{"FrameOfAnotherChunk", "interleaved", "memory", "belongs to another chunk",
            [](Program& p) {
              const std::uint32_t op = find_op(p, 0, is_memory(OpKind::alloc, Space::frame));
              p.roles[0].slots[operand(p, op, 0)].chunk = 1;
            }},
    Planted{"StaticGivenBack", "dp", "memory", "static and given back",
            [](Program& p) {
              const std::uint32_t op = find_op(p, 0, is_kernel(Kernel::clip_coefficient));
              p.ops[op] = {.kind = OpKind::free, .refs = 1, .ref_begin = p.ops[op].ref_begin};
            }},
    Planted{"StaticTakenEachStep", "dp", "memory", "taken in every step",
            [](Program& p) {
              p.ops[find_op(p, 0, is_memory(OpKind::alloc, Space::statics))].when = When::always;
            }},
    Planted{"StaticNeverTaken", "dp", "memory", "is never taken",
            [](Program& p) { drop_op(p, p.segments[p.roles[0].prologue[0].segment].op_begin); }},
    // --- gradients ---
    Planted{"ReductionLeftOut", "dp", "gradients", "not reduced over dp",
            [](Program& p) { drop_op(p, find_op(p, 0, is_collective("dp", Phase::grad_sync))); }},
    Planted{"ReducedTwice", "dp", "gradients", "a second time",
            [](Program& p) { repeat_op(p, find_op(p, 0, is_collective("dp", Phase::grad_sync))); }},
    Planted{"ReducedOverAnotherGroup", "tp_no_sp", "gradients", "not reduced over dp",
            [](Program& p) {
              p.ops[find_op(p, 0, is_collective("dp", Phase::grad_sync))].comm =
                  comm_named(p, "tp");
            }},
    Planted{"ReducedEveryMicroBatch", "overlapped", "gradients", "times in a step",
            [](Program& p) {
              p.ops[find_op(p, 0, is_collective("dp", Phase::grad_sync))].when =
                  When::not_last_micro_batch;
            }},
    Planted{"ReducedBeforeTheLastMicroBatch", "overlapped", "gradients", "not complete before",
            [](Program& p) {
              p.ops[find_op(p, 0, is_collective("dp", Phase::grad_sync))].when =
                  When::first_micro_batch;
            }},
    Planted{"ReducedAfterTheOptimizer", "dp", "gradients", "already read it",
            [](Program& p) {
              swap_calls(p, 0, find_call(p, 0, "grad_sync"), find_call(p, 0, "optimizer"));
            }},
    Planted{"PartOfTheBufferReduced", "dp", "gradients", "not reduced over dp",
            [](Program& p) {
              const std::uint32_t op = find_op(p, 0, is_collective("dp", Phase::grad_sync));
              std::vector<Slot>& slots = p.roles[0].slots;
              Slot half = slots[operand(p, op, 0)];
              half.parent = operand(p, op, 0);
              half.elements /= 2;
              slots.push_back(half);
              p.ops[op].elements = half.elements;
              operand(p, op, 0) = operand(p, op, 1) = static_cast<SlotId>(slots.size() - 1);
            }},
    Planted{"TiedNotReduced", "tied", "gradients", "reduced 0 times over the first and last",
            [](Program& p) {
              for (const std::size_t role : {std::size_t{0}, std::size_t{3}})
                drop_op(p, find_op(p, role, is_collective("embedding", Phase::grad_sync)));
            }},
    Planted{"TiedReducedTwice", "tied", "gradients", "reduced 2 times",
            [](Program& p) {
              repeat_op(p, find_op(p, 0, is_collective("embedding", Phase::grad_sync)));
            }},
    // --- progress ---
    Planted{"ReceiveGradBeforeSendOutput", "1f1b", "progress", "stuck",
            [](Program& p) {
              const std::size_t send = find_call(p, 2, "send_output"),
                                receive = find_call(p, 2, "receive_grad");
              for (const std::size_t call : {send, receive}) start_alone(p, 2, call);
              swap_calls(p, 2, send, receive);
            }},
    Planted{"TransfersNotGrouped", "interleaved", "progress", "stuck",
            [](Program& p) {
              for (Op& op : p.ops) op.grouped = false;
            }},
    Planted{"SharedCollectiveBeforeATransfer", "1f1b", "progress", "stuck",
            [](Program& p) {
              swap_calls(p, 0, find_call(p, 0, "forward"), find_call(p, 0, "optimizer"));
            }},
    Planted{"WaitsForNothing", "asynchronous", "progress", "nothing has recorded",
            [](Program& p) {
              drop_op(p,
                      find_op(p, 0, is_event(OpKind::record, Stream::pp_recv_fwd, Phase::forward)));
            }},
    Planted{"WaitsBeforeTheRecord", "asynchronous", "progress", "nothing has recorded",
            [](Program& p) {
              swap_calls(p, 1, find_call(p, 1, "receive_input"), find_call(p, 1, "forward"));
            }},
    // --- hazards ---
    Planted{"InputNotAwaited", "asynchronous", "hazards", "may still write it",
            [](Program& p) { drop_op(p, find_op(p, 1, within("forward", is(OpKind::wait)))); }},
    Planted{"ReceiveIntoMemoryInUse", "asynchronous", "hazards", "may still write it",
            [](Program& p) {
              drop_op(p,
                      find_op(p, 1, is_event(OpKind::wait, Stream::pp_recv_fwd, Phase::forward)));
            }},
    Planted{"SentBeforeComputed", "asynchronous", "hazards", "may still write it",
            [](Program& p) {
              drop_op(p,
                      find_op(p, 1, is_event(OpKind::wait, Stream::pp_send_fwd, Phase::forward)));
            }},
    Planted{"SentMemoryGivenBack", "asynchronous", "hazards", "may still read it",
            [](Program& p) {
              drop_op(p, find_op(p, 1, within("finish_send_output", is(OpKind::wait))));
            }},
    Planted{"ReducedBeforeComputed", "overlapped", "hazards", "may still write it",
            [](Program& p) {
              drop_op(p, find_op(p, 0, is_event(OpKind::wait, Stream::dp, Phase::grad_sync)));
            }},
    Planted{"ReductionsNotAwaited", "overlapped", "hazards", "may still",
            [](Program& p) {
              for (const Op& op : p.ops_of(p.roles[0].calls[find_call(p, 0, "grad_sync")])) {
                if (op.kind == OpKind::wait)
                  drop_op(p, static_cast<std::uint32_t>(&op - p.ops.data()));
              }
            }},
    Planted{"GatherNotAwaited", "overlapped", "hazards", "may still write it",
            [](Program& p) {
              drop_op(p, find_op(p, 0, [](const ChosenOp& o) {
                        return o.op.kind == OpKind::wait && o.op.when == When::first_micro_batch;
                      }));
            }},
    Planted{"GatherBeforeTheLastStepEnds", "overlapped", "hazards", "may still write it",
            [](Program& p) {
              drop_op(p, find_op(p, 0, is_event(OpKind::wait, Stream::dp, Phase::param_sync)));
            }},
    Planted{"InputGradientNotAwaited", "overlapped", "hazards", "may still",
            [](Program& p) {
              drop_op(
                  p, find_op(p, 0,
                             in_a_layer(is_event(OpKind::wait, Stream::compute, Phase::backward))));
            }},
    Planted{"MemoryTakenAfterTheRecord", "overlapped", "hazards", "may still write it",
            [](Program& p) {
              const std::uint32_t wait =
                  find_op(p, 0, is_event(OpKind::wait, Stream::tp, Phase::backward));
              const std::uint32_t product = find_op(p, 0, after(wait, is(OpKind::compute)));
              move_op(p, product, find_op(p, 0, after(wait, is(OpKind::alloc))));
            }},
    Planted{
        "GradientOfOneCopyAlone", "two_copies", "copies", "not summed over both copies",
        [](Program& p) { drop_op(p, find_op(p, 0, is_collective("copies0", Phase::grad_sync))); }},
    Planted{"GradientSummedOverBothCopiesTwice", "two_copies", "copies",
            "not summed over both copies",
            [](Program& p) {
              repeat_op(p, find_op(p, 1, is_collective("copies1", Phase::grad_sync)));
            }},
    Planted{"GradientReducedAfterBothCopiesAreSummed", "two_copies", "copies",
            "the gradient is not complete",
            [](Program& p) {
              move_op(p, find_op(p, 0, is_collective("copies0", Phase::grad_sync)),
                      find_op(p, 0, is_collective("dp", Phase::grad_sync)));
            }},
    Planted{"MicroBatchOfTheOtherCopy", "two_copies", "calls", "the other copy of the model",
            [](Program& p) {
              Role& role = p.roles[0];
              role.calls[find_call(p, 0, "forward.chunk0")].micro_batch =
                  static_cast<std::int32_t>(p.job.micro_batches) - 1;
            }},
    Planted{"InputNotAwaitedInALargeProgram", "large", "hazards", "may still write it",
            [](Program& p) { drop_op(p, find_op(p, 1, within("forward", is(OpKind::wait)))); }},
    Planted{"StuckInTheMiddleOfALargeProgram", "large", "progress", "stuck",
            [](Program& p) {
              // A receive and a send left out, far from both ends.
              const std::size_t a = find_call(p, 2, "receive_input.chunk0", 300),
                                b = find_call(p, 2, "send_output.chunk0", 301);
              drop_call(p, 2, b);
              drop_call(p, 2, a);
            }},
};

}  // namespace

std::span<const Planted> planted_mistakes() {
  return kPlanted;
}

}  // namespace windtunnel
