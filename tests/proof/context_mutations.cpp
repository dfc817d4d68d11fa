#include "tests/proof/context_mutations.h"

#include <array>

#include "tests/proof/program_edit.h"

namespace windtunnel::proof {

namespace {

using C = Collective;
using K = Kernel;

OpTest shifts() {
  return is_collective(C::ring_shift, "cp");
}

OpTest either(K a, K b) {
  return [a, b](const OpPlace& at) { return at.kernel() == a || at.kernel() == b; };
}

/// A row's number in the rank's part, samples counted as positions.
void rotate_by_row(Program& p) {
  change_shape(p, either(K::rope_fwd, K::rope_bwd), [](Shape& shape) { shape.dims[4] = 1; });
}

/// Averages over the tokens of the whole sequence on each rank, then over the ranks.
void average_twice(Program& p) {
  const std::int64_t ranks = p.mesh.cp;
  change_shape(p, is_kernel(K::ce_loss), [ranks](Shape& shape) { shape.dims[1] *= ranks; });
  change_shape(p, is_kernel(K::ce_bwd), [ranks](Shape& shape) { shape.dims[2] *= ranks; });
}

void drop_head_shard(Program& p) {
  change_shape(p, either(K::flash_fwd, K::flash_bwd), [](Shape& shape) {
    shape.attr = static_cast<std::uint16_t>(shape.attr & ~kHeadShard);
  });
}

/// The second step attends as if it had the keys of the third.
void attend_out_of_step(Program& p) {
  change_shape(p,
               both(either(K::flash_block_fwd, K::flash_block_bwd),
                    [](const OpPlace& at) { return at.program.shapes[at.op.shape].dims[5] == 1; }),
               [](Shape& shape) { shape.dims[5] = 2; });
}

const std::array kMutations = {
    Mutation{"gradients reduced over dp and not over cp", "tp2_pp2_dp2_cp2_gather", Check::verify,
             [](Program& p) { p.comms[comm_named(p, "dp")].axes = kAxisDp; }},
    Mutation{"gradients reduced over cp and not over dp", "tp2_pp2_dp2_cp2_gather", Check::field,
             [](Program& p) { p.comms[comm_named(p, "dp")].axes = kAxisCp; }},
    Mutation{"a hop of the ring dropped", "cp2_ring", Check::execution,
             [](Program& p) { drop(p, first(shifts())); }},
    Mutation{"a hop's keys sent on before they came", "cp4_ring_overlap", Check::execution,
             [](Program& p) { drop(p, both(in_phase(Phase::forward), is_wait_on(Stream::cp))); }},
    Mutation{
        "attention does not wait for the hop", "cp2_ring_overlap", Check::execution,
        [](Program& p) { drop(p, both(in_phase(Phase::forward), is_wait_on(Stream::compute))); }},
    Mutation{"keys sent around the ring of all replicas", "cp2_dp2_ring_zero1", Check::field,
             [](Program& p) { move_to(p, shifts(), "dp"); }},
    Mutation{"a step attends with the next one's mask", "cp4_ring", Check::field,
             attend_out_of_step},
    Mutation{"rotated by the row, not the token's position", "cp4_gather", Check::field,
             rotate_by_row},
    Mutation{"a mean over the sequence, then over its ranks", "cp2_ulysses", Check::field,
             average_twice},
    Mutation{"gradients of gathered keys averaged", "cp2_gather", Check::field,
             [](Program& p) {
               change(p, is_collective(C::reduce_scatter, "cp"),
                      [](Op& op) { op.reduce = ReduceOp::average; });
             }},
    Mutation{"slopes of other heads after the exchange", "cp2_ulysses_bloom", Check::field,
             drop_head_shard},
};

}  // namespace

std::span<const Mutation> context_mutations() {
  return kMutations;
}

}  // namespace windtunnel::proof
