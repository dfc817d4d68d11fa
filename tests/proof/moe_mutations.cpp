#include "tests/proof/moe_mutations.h"

#include <array>
#include <utility>

#include "tests/proof/program_edit.h"

namespace windtunnel::proof {

namespace {

using C = Collective;
using K = Kernel;

bool quantizes_padded_rows(const OpPlace& at) {
  if (at.kernel() != K::quantize) return false;
  return at.program.names[at.operand(at.program.roles[0], 0).name] == "padded";
}

/// Reductions over the replicas of experts' shards.
bool over_experts_replicas(const OpPlace& at) {
  return all_reduce("dp_replicate")(at) && at.operand(at.program.roles[0], 0).dp_step > 1;
}

const std::array kMutations = {
    Mutation{"expert gradients divided by their replicas alone", "moe_dp4_ep2", Check::field,
             [](Program& p) { drop(p, is_kernel(K::scale)); }},
    Mutation{"a unit of experts divided by their replicas alone", "moe_dp4_ep2_fsdp2", Check::field,
             [](Program& p) { drop(p, is_kernel(K::scale)); }},
    Mutation{"shards of experts reduced over the expert group", "moe_dp4_ep2_fsdp2", Check::field,
             [](Program& p) { move_to(p, is_collective(C::reduce_scatter, "edp"), "ep"); }},
    Mutation{"expert gradients reduced over all of dp", "moe_dp4_ep2", Check::verify,
             [](Program& p) { move_to(p, of_gradients("edp"), "dp"); }},
    Mutation{"expert gradients reduced over the expert group", "moe_dp4_ep2", Check::verify,
             [](Program& p) { move_to(p, of_gradients("edp"), "ep"); }},
    Mutation{"dense gradients reduced over the replicas of experts", "moe_dp4_ep2", Check::verify,
             [](Program& p) { move_to(p, of_gradients("dp"), "edp"); }},
    Mutation{"experts over cp: gradients divided by their replicas alone", "moe_cp2_dp2_ep2",
             Check::field, [](Program& p) { drop(p, is_kernel(K::scale)); }},
    Mutation{"experts over cp: gradients reduced over dp and cp", "moe_cp2_dp2_ep2", Check::verify,
             [](Program& p) { move_to(p, of_gradients("edp"), "dp"); }},
    Mutation{"expert groups over dp in place of cp", "moe_cp2_dp2_ep2", Check::field,
             [](Program& p) { p.comms[comm_named(p, "ep")].stride = 2; }},
    Mutation{"replicas of experts' shards not reduced", "moe_dp8_ep2_hsdp4", Check::verify,
             [](Program& p) { drop(p, over_experts_replicas); }},
    Mutation{"experts' shards reduced over other shards of them", "moe_dp8_ep2_hsdp4",
             Check::verify, [](Program& p) { move_to(p, over_experts_replicas, "edp_shard"); }},
    Mutation{"experts alone in a shard group not reduced over the others", "moe_dp4_ep2_hsdp2",
             Check::verify, [](Program& p) { drop(p, over_experts_replicas); }},
    Mutation{"experts cut over dense parameters' shard group", "moe_dp8_ep2_zero1_shards_of_4",
             Check::verify,
             [](Program& p) { move_to(p, is_collective(C::reduce_scatter, "edp_shard"), "ep"); }},
    Mutation{"rows multiplied with another expert", "moe_dp4_ep2", Check::field,
             [](Program& p) {
               change_shape(p, is_kernel(K::swap_chunks),
                            [](Shape& shape) { std::swap(shape.dims[0], shape.dims[1]); });
             }},
    Mutation{"rows padded behind all experts, not behind each", "moe_ep2_fp8_delayed", Check::field,
             [](Program& p) {
               change_shape(p, is_kernel(K::pad_groups), [](Shape& shape) {
                 const std::int64_t groups = std::exchange(shape.dims[0], 1);
                 shape.dims[1] *= groups;
                 shape.dims[2] *= groups;
               });
             }},
    Mutation{"experts' rows multiplied that were not quantised", "moe_ep2_mxfp8", Check::execution,
             [](Program& p) { drop(p, in_segment(quantizes_padded_rows, "forward")); }},
    Mutation{"experts' gradients multiplied that were not quantised", "moe_ep2_mxfp8_zb_v",
             Check::execution,
             [](Program& p) { drop(p, in_segment(quantizes_padded_rows, "input_grad")); }},
    Mutation{"experts' rows not sent back", "moe_dp2_ep2", Check::execution,
             [](Program& p) {
               drop(p, both(is_collective(C::all_to_all, "ep"), [](const OpPlace& at) {
                      const Slot& to = at.operand(at.program.roles[0], 1);
                      return at.program.names[to.name] == "returned";
                    }));
             }},
    Mutation{"the experts do not wait for the rows sent to them", "moe_shared_overlap",
             Check::execution,
             [](Program& p) { drop(p, in_segment(is_wait_on(Stream::compute), "forward")); }},
    Mutation{"tokens of a sequence shard routed by their local rows", "moe_capacity_drops",
             Check::field,
             [](Program& p) {
               change_shape(p, is_kernel(K::route_fwd), [](Shape& shape) {
                 shape.attr = static_cast<std::uint16_t>(shape.attr & ~kSequenceShard);
               });
             }},
    Mutation{"clip norm of one rank's experts", "moe_dp4_ep2", Check::field,
             [](Program& p) { drop(p, all_reduce("model_ep")); }},
    Mutation{"every rank updates the experts' first shard", "moe_dp4_ep2_zero1", Check::field,
             [](Program& p) {
               for (Role& role : p.roles) {
                 for (Slot& slot : role.slots) slot.dp_step = 1;
               }
             }},
};

}  // namespace

std::span<const Mutation> moe_mutations() {
  return kMutations;
}

}  // namespace windtunnel::proof
