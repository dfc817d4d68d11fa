#include "tests/proof/mutations.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/check.h"
#include "program/mesh.h"
#include "program/verify.h"
#include "runtime/interpreter.h"
#include "runtime/param_map.h"
#include "runtime/proof.h"
#include "tests/proof/context_mutations.h"
#include "tests/proof/latent_mutations.h"
#include "tests/proof/lora_mutations.h"
#include "tests/proof/moe_mutations.h"
#include "tests/proof/offload_mutations.h"
#include "tests/proof/program_edit.h"
#include "tests/proof/tp_overlap_mutations.h"

namespace windtunnel::proof {

namespace {

using C = Collective;
using K = Kernel;

OpTest reduces_by(OpTest test, ReduceOp reduce) {
  return both(std::move(test), [reduce](const OpPlace& at) { return at.op.reduce == reduce; });
}

/// The calls of a role whose segment's name contains `part`.
std::vector<std::size_t> calls_of(const Program& p, const Role& role, const char* part) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < role.calls.size(); ++i) {
    const std::string& name = p.names[p.segments[role.calls[i].segment].name];
    if (name.rfind(part, 0) == 0) found.push_back(i);
  }
  CHECK(!found.empty(), "a mutation of calls needs calls");
  return found;
}

/// The backward of a stage runs one micro-batch ahead of its forward.
void backward_before_forward(Program& p) {
  std::vector<Call>& calls = p.roles.back().calls;
  const std::size_t f = calls_of(p, p.roles.back(), "forward").front();
  const std::size_t b = calls_of(p, p.roles.back(), "backward").front();
  std::rotate(calls.begin() + static_cast<std::ptrdiff_t>(f),
              calls.begin() + static_cast<std::ptrdiff_t>(b),
              calls.begin() + static_cast<std::ptrdiff_t>(b) + 1);
}

/// The first stage takes its micro-batches backward in another order than the last gives them.
void swap_backwards(Program& p) {
  Role& role = p.roles.front();
  const auto backward = calls_of(p, role, "backward");
  const auto receive = calls_of(p, role, "receive_grad");
  std::swap(role.calls[backward[0]].micro_batch, role.calls[backward[1]].micro_batch);
  std::swap(role.calls[receive[0]].micro_batch, role.calls[receive[1]].micro_batch);
}

/// Interleaving takes the model chunks in forward order in the backward of the last stage.
void backward_in_chunk_order(Program& p) {
  std::vector<Call>& calls = p.roles.back().calls;
  const auto backward = calls_of(p, p.roles.back(), "backward");
  const Call earlier = calls[backward.front()];
  for (const std::size_t i : backward) {
    if (calls[i].chunk == earlier.chunk || calls[i].micro_batch != earlier.micro_batch) continue;
    std::swap(calls[backward.front()], calls[i]);
    return;
  }
}

/// Moves what passes to the start of its segment.
void move_first(Program& p, const OpTest& test) {
  std::size_t moved = 0;
  for (const Segment& s : p.segments) {
    const auto begin = p.ops.begin() + s.op_begin, end = p.ops.begin() + s.op_end;
    const auto middle = std::stable_partition(begin, end, [&](const Op& op) {
      return test({p, s, op});
    });
    moved += static_cast<std::size_t>(middle - begin);
  }
  CHECK(moved > 0, "a mutation must move an op");
}

/// Gradients are averaged over the tensor-parallel instead of the data-parallel group.
void reduce_over_tp(Program& p) {
  move_to(p, of_gradients("dp"), "tp");
}

/// The norm sums over the data-parallel copies of the gradients too.
void norm_over_world(Program& p) {
  p.comms.push_back({.name = "world", .axes = kAxisTp | kAxisDp | kAxisPp});
  const auto world = static_cast<std::uint32_t>(p.comms.size() - 1);
  change(p, both(all_reduce("model"), in_phase(Phase::optimizer)),
         [world](Op& op) { op.comm = world; });
}

/// An executor that forgets that tensor-parallel ranks hold the same norm gains and biases.
void count_tp_duplicates(const Program& p, ExecutionRecord& record) {
  const Grid grid = dense_grid(p.mesh);
  for (StepRecord& step : record.steps) {
    double duplicates = 0.0;
    for (const TensorPiece& piece : step.gradients) {
      const Coordinates at = coordinates_of(grid, piece.rank);
      if (at.dp != 0 || counts_in_norm(p.params[piece.param], at.tp)) continue;
      for (const double g : piece.values) duplicates += g * g;
    }
    for (RankNorm& norm : step.norms) norm.norm2 += duplicates;
  }
}

/// The weights a rank updates lie where the first rank's do.
void forget_dp_stride(Program& p) {
  for (Role& role : p.roles) {
    for (Slot& slot : role.slots) {
      if (slot.category == Category::weights) slot.dp_stride = 0;
    }
  }
}

OpTest frees_unsharded(const Program& p) {
  const Role& role = p.roles.front();
  return [&role](const OpPlace& at) {
    return at.op.kind == OpKind::free && at.operand(role, 0).category == Category::unsharded;
  };
}

void not_a_tied_copy(Program& p) {
  for (Param& param : p.params) param.tied_copy = false;
}

void counts_in_every_copy(Program& p) {
  for (Param& param : p.params) param.second_copy = false;
}

/// A free trades places with the kernel before it, the last to use the tensor.
void free_early(Program& p) {
  for (const Segment& s : p.segments) {
    if (p.names[s.name].rfind("backward", 0) != 0) continue;
    for (std::uint32_t i = s.op_end; i-- > s.op_begin + 1;) {
      if (p.ops[i].kind != OpKind::free || p.ops[i - 1].kind != OpKind::compute) continue;
      std::swap(p.ops[i], p.ops[i - 1]);
      return;
    }
  }
  CHECK(false, "a mutation must move an op");
}

constexpr std::array kMutations = {
    Mutation{"a forward all-reduce dropped", "tp2", Check::field,
             [](Program& p) { drop(p, first(in_segment(all_reduce("tp"), "forward"))); }},
    Mutation{"a backward all-reduce dropped", "tp2", Check::field,
             [](Program& p) { drop(p, first(both(all_reduce("tp"), in_phase(Phase::backward)))); }},
    Mutation{"the softmax maximum not reduced", "tp2", Check::fp64,
             [](Program& p) { drop(p, reduces_by(all_reduce("tp"), ReduceOp::max)); }},
    Mutation{"the label's logit not reduced", "tp2", Check::field,
             [](Program& p) {
               const OpTest loss =
                   both(reduces_by(all_reduce("tp"), ReduceOp::sum),
                        [](const OpPlace& at) { return at.op.module == Module::loss; });
               drop(p, first(loss));
             }},
    Mutation{"gradients reduced over the wrong group", "tp2_pp2_dp2_plain", Check::field,
             reduce_over_tp},
    Mutation{"1/dp missing", "dp2", Check::field,
             [](Program& p) {
               change(p, of_gradients("dp"), [](Op& op) { op.reduce = ReduceOp::sum; });
             }},
    Mutation{
        "one bucket not reduced", "dp4_overlap", Check::field,
        [](Program& p) { drop(p, first(both(all_reduce("dp"), in_phase(Phase::grad_sync)))); }},
    Mutation{"gradients reduced before the last micro-batch", "dp4_overlap", Check::execution,
             [](Program& p) {
               change(p,
                      both(in_phase(Phase::grad_sync),
                           [](const OpPlace& at) { return at.op.when == When::last_micro_batch; }),
                      [](Op& op) { op.when = When::first_micro_batch; });
             }},
    Mutation{"the reduction does not wait for the gradients", "dp4_overlap", Check::execution,
             [](Program& p) { drop(p, both(is_wait_on(Stream::dp), in_phase(Phase::grad_sync))); }},
    Mutation{
        "the optimizer does not wait for the reduction", "dp4_overlap", Check::execution,
        [](Program& p) { drop(p, both(is_wait_on(Stream::compute), in_phase(Phase::grad_sync))); }},
    Mutation{
        "the forward does not wait for gathered weights", "dp4_zero1_overlap", Check::execution,
        [](Program& p) {
          drop(p,
               in_segment(both(is_wait_on(Stream::compute), in_phase(Phase::forward)), "forward"));
        }},
    Mutation{"the forward does not wait for its input", "pp4_1f1b_overlap", Check::execution,
             [](Program& p) { drop(p, in_segment(is_wait_on(Stream::compute), "forward")); }},
    Mutation{
        "an output is freed while it is sent", "pp4_1f1b_overlap", Check::execution,
        [](Program& p) { drop(p, in_segment(is_wait_on(Stream::compute), "finish_send_output")); }},
    Mutation{"the next layer does not wait for the reduced gradient", "megatron_2024",
             Check::execution,
             [](Program& p) { drop(p, in_segment(is_wait_on(Stream::compute), "backward")); }},
    Mutation{"norm gradients not reduced under sequence parallel", "tp4_sp", Check::field,
             [](Program& p) { drop(p, of_gradients("tp")); }},
    Mutation{"dropout of a sequence shard drawn by its local rows", "tp4_sp", Check::field,
             [](Program& p) {
               change_shape(p, is_kernel(K::dropout_add), [](Shape& shape) {
                 shape.attr = static_cast<std::uint16_t>(shape.attr & ~kSequenceShard);
               });
             }},
    Mutation{"tied embedding not reduced", "pp2_1f1b", Check::field,
             [](Program& p) { drop(p, of_gradients("embedding")); }},
    Mutation{"clip norm counts the tied copy", "pp2_1f1b", Check::field, not_a_tied_copy},
    Mutation{"gradients not summed over both copies of the model", "pp2_dualpipe", Check::field,
             [](Program& p) { drop(p, of_gradients("copies0")); }},
    Mutation{"both copies of the model averaged", "pp2_dualpipe", Check::field,
             [](Program& p) {
               change(p, of_gradients("copies0"), [](Op& op) { op.reduce = ReduceOp::average; });
             }},
    Mutation{"clip norm counts both copies of the model", "pp2_dualpipe", Check::field,
             counts_in_every_copy},
    Mutation{"clip norm counts data-parallel copies", "tp2_pp2_dp2_plain", Check::field,
             norm_over_world},
    Mutation{"clip norm counts tensor-parallel copies", "tp2", Check::fp64, nullptr,
             count_tp_duplicates},
    Mutation{"clip norm not reduced", "tp2", Check::field,
             [](Program& p) { drop(p, both(all_reduce("model"), in_phase(Phase::optimizer))); }},
    Mutation{"warm-up off by one: a backward before its forward", "pp2_1f1b", Check::verify,
             backward_before_forward},
    Mutation{"backwards in another order than the next stage's", "pp2_1f1b", Check::verify,
             swap_backwards},
    Mutation{"backward in forward chunk order", "pp2_interleaved", Check::execution,
             backward_in_chunk_order},
    Mutation{"weights not gathered", "dp2_zero1", Check::field,
             [](Program& p) { drop(p, is_collective(C::all_gather, "dp")); }},
    Mutation{"weights gathered before the update: step t uses t-1", "dp2_zero1", Check::field,
             [](Program& p) { move_first(p, is_collective(C::all_gather, "dp")); }},
    Mutation{"every rank updates the first shard", "dp2_zero1", Check::field, forget_dp_stride},
    Mutation{"a micro-batch's weight gradient overwrites the sum", "accumulate", Check::field,
             [](Program& p) {
               change_shape(p, is_kernel(K::gemm_wgrad), [](Shape& shape) {
                 shape.attr = static_cast<std::uint16_t>(shape.attr & ~kAccumulate);
               });
             }},
    Mutation{"the last micro-batch's weight gradient dropped", "pp2_1f1b", Check::field,
             [](Program& p) {
               change(p, first(is_kernel(K::gemm_wgrad)),
                      [](Op& op) { op.when = When::not_last_micro_batch; });
             }},
    Mutation{"the MLP's part of a shared norm's gradient left out", "parallel_block", Check::field,
             [](Program& p) {
               drop(p, both(is_kernel(K::add),
                            [](const OpPlace& at) { return at.op.module == Module::norm; }));
             }},
    Mutation{"the loss scaled twice", "pp2_1f1b", Check::field,
             [](Program& p) {
               change_shape(p, is_kernel(K::ce_bwd), [](Shape& shape) { shape.dims[2] *= 2; });
             }},
    Mutation{
        "gradients of the last step kept", "accumulate", Check::field,
        [](Program& p) {
          change(p,
                 both(is_kernel(K::zero),
                      [](const OpPlace& at) { return at.program.shapes[at.op.shape].dims[0] > 1; }),
                 [](Op& op) { op.when = When::first_step; });
        }},
    Mutation{"a unit's gradients not reduced in one micro-batch", "dp2_fsdp2", Check::verify,
             [](Program& p) {
               drop(p, first(both(is_collective(C::reduce_scatter, "dp"), [](const OpPlace& at) {
                      return at.op.when == When::not_first_micro_batch;
                    })));
             }},
    Mutation{"the second micro-batch's reduction replaces the first's", "dp2_fsdp2", Check::verify,
             [](Program& p) {
               change(p, both(is_kernel(K::accumulate), in_phase(Phase::grad_sync)),
                      [](Op& op) { op.when = When::first_step; });
             }},
    Mutation{"a gradient left out of its unit's reduction", "dp2_fsdp2", Check::verify,
             [](Program& p) {
               change(p, first(is_kernel(K::pack)), [](Op& op) {
                 ++op.ref_begin;
                 --op.inputs;
                 --op.refs;
               });
             }},
    Mutation{"a unit let go before it is used", "dp2_fsdp2", Check::verify,
             [](Program& p) { move_first(p, frees_unsharded(p)); }},
    Mutation{"a unit used before it is gathered", "dp2_fsdp2", Check::execution,
             [](Program& p) {
               drop(p, both(is_wait_on(Stream::compute), in_phase(Phase::param_sync)));
             }},
    Mutation{
        "weights of the step before gathered", "dp2_fsdp2_no_reshard", Check::execution,
        [](Program& p) { drop(p, first(in_segment(is_wait_on(Stream::dp_gather), "forward"))); }},
    Mutation{"replicas of shards not reduced", "dp4_hsdp2", Check::verify,
             [](Program& p) { drop(p, of_gradients("dp_replicate")); }},
    Mutation{"shards reduced over the replicas' group", "dp4_hsdp2", Check::field,
             [](Program& p) {
               move_to(p, is_collective(C::reduce_scatter, "dp_shard"), "dp_replicate");
             }},
    Mutation{"clip norm counts replicas of shards", "dp4_hsdp2", Check::field,
             [](Program& p) { p.comms[comm_named(p, "world")].ways = 0; }},
    Mutation{"whole gradients reduced before the last micro-batch", "pp2_dp2_fsdp2", Check::verify,
             [](Program& p) {
               change(p,
                      both(in_phase(Phase::grad_sync),
                           [](const OpPlace& at) { return at.op.when == When::last_micro_batch; }),
                      [](Op& op) { op.when = When::first_micro_batch; });
             }},
    Mutation{"a tensor freed before its last use", "accumulate", Check::execution, free_early},
    Mutation{"keys beyond the window seen in the backward", "sliding_window", Check::field,
             [](Program& p) {
               change_shape(p, is_kernel(K::flash_bwd), [](Shape& shape) { shape.dims[6] = 0; });
             }},
    Mutation{"keys beyond the window seen by a softmax", "tp2_sliding_window_unfused", Check::field,
             [](Program& p) {
               change_shape(p, is_kernel(K::softmax_fwd), [](Shape& shape) { shape.dims[3] = 0; });
             }},
    Mutation{"a window one token short", "tp2_sliding_window_by_turns", Check::field,
             [](Program& p) {
               change_shape(p, is_kernel(K::flash_fwd), [](Shape& shape) {
                 if (shape.dims[6] > 0) --shape.dims[6];
               });
             }},
    Mutation{"keys of the future not masked in the backward", "tp2_gpt_unfused", Check::field,
             [](Program& p) {
               change_shape(p, is_kernel(K::softmax_bwd), [](Shape& shape) {
                 shape.attr = static_cast<std::uint16_t>(shape.attr & ~kCausal);
               });
             }},
};

}  // namespace

const char* name_of(Check check) {
  switch (check) {
    case Check::verify:
      return "verify";
    case Check::execution:
      return "execution";
    case Check::field:
      return "field";
    case Check::fp64:
      return "fp64";
  }
  return "?";
}

std::span<const Mutation> mutations() {
  static const std::vector<Mutation> kAll = [] {
    std::vector<Mutation> all(kMutations.begin(), kMutations.end());
    for (const auto more : {context_mutations(), moe_mutations(), latent_mutations(),
                            tp_overlap_mutations(), offload_mutations(), lora_mutations()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }();
  return kAll;
}

std::vector<Check> caught(const Mutation& mutation) {
  Programs programs = lower_both(plan_case(mutation.plan));
  if (mutation.edit != nullptr) mutation.edit(programs.plan);
  std::vector<Check> checks;
  if (!find_violations(programs.plan).empty()) checks.push_back(Check::verify);
  for (const NumberMode mode : {NumberMode::field, NumberMode::fp64}) {
    const ExecutionOptions options{.mode = mode, .steps = 2};
    try {
      ExecutionRecord record = execute(programs.plan, options);
      if (mutation.edit_record != nullptr) mutation.edit_record(programs.plan, record);
      const ExecutionRecord one = execute(programs.one_device, options);
      const ProofResult result =
          compare_records({programs.plan, record}, {programs.one_device, one}, mode);
      if (result.equal()) continue;
      checks.push_back(mode == NumberMode::field ? Check::field : Check::fp64);
    } catch (const ExecutionError&) {
      if (mode == NumberMode::field) checks.push_back(Check::execution);
    }
  }
  return checks;
}

}  // namespace windtunnel::proof
