#include "tests/proof/latent_mutations.h"

#include <array>
#include <utility>

#include "tests/proof/program_edit.h"

namespace windtunnel::proof {

namespace {

using C = Collective;
using K = Kernel;

/// Transfers of a tensor of this name.
OpTest of_tensor(const char* name) {
  return [name](const OpPlace& at) {
    if (at.op.kind != OpKind::collective) return false;
    const Slot& slot = at.operand(at.program.roles[0], 0);
    return at.program.names[slot.name] == name;
  };
}

const std::array kMutations = {
    Mutation{"the shared key's gradient of one rank's heads", "latent_tp2", Check::field,
             [](Program& p) { drop(p, of_tensor("drope_key")); }},
    Mutation{"a latent's gradient of one rank's heads", "latent_tp2", Check::field,
             [](Program& p) { drop(p, first(both(all_reduce("tp"), of_tensor("dgrad")))); }},
    Mutation{"down-projections' gradients of one rank's tokens", "latent_tp4_sp", Check::field,
             [](Program& p) { drop(p, both(all_reduce("tp"), of_tensor("partial_grads"))); }},
    Mutation{"nope and rope columns exchanged", "latent_micro2", Check::execution,
             [](Program& p) {
               change_shape(p, is_kernel(K::latent_heads_fwd),
                            [](Shape& shape) { std::swap(shape.dims[2], shape.dims[3]); });
             }},
    Mutation{"values as wide as keys", "latent_tp2", Check::execution,
             [](Program& p) {
               change_shape(p, is_kernel(K::flash_fwd), [](Shape& shape) { shape.dims[5] = 0; });
             }},
    Mutation{"values as wide as keys, in a step of a ring", "latent_cp2_ring", Check::execution,
             [](Program& p) {
               change_shape(p, is_kernel(K::flash_block_fwd),
                            [](Shape& shape) { shape.dims[6] = 0; });
             }},
    Mutation{"latent heads rotated by the row", "latent_cp4_ring_overlap", Check::field,
             [](Program& p) {
               change_shape(p, is_kernel(K::latent_heads_fwd),
                            [](Shape& shape) { shape.dims[5] = 1; });
             }},
    Mutation{"gradients of a step's keys not handed on", "latent_cp2_ring", Check::field,
             [](Program& p) {
               change(p, both(of_tensor("dkv"), is_collective(C::ring_shift, "cp")),
                      [](Op& op) { op.distance = 2; });
             }},
    Mutation{"a prediction that reads the model's own tokens", "mtp_pp2", Check::field,
             [](Program& p) {
               change_shape(p, is_kernel(K::load_tokens), [](Shape& shape) { shape.dims[2] = 0; });
             }},
    Mutation{"a prediction of the next token", "mtp_pp2", Check::field,
             [](Program& p) {
               change_shape(p, is_kernel(K::load_labels), [](Shape& shape) { shape.dims[2] = 0; });
             }},
    Mutation{"the predictions' table not summed with the first stage's", "mtp_pp2", Check::verify,
             [](Program& p) { drop(p, all_reduce("embedding")); }},
    Mutation{"a prediction's weights used before they are gathered", "mtp_dp2_fsdp2",
             Check::execution,
             [](Program& p) {
               constexpr int kPrediction = 4;  // its layer follows the four of the model
               drop(p, both(both(is_wait_on(Stream::compute), in_phase(Phase::param_sync)),
                            [](const OpPlace& at) { return at.op.layer == kPrediction; }));
             }},
    Mutation{"every rank's columns of the projection in its own place", "mtp_tp2_sp", Check::field,
             [](Program& p) {
               change_shape(p,
                            both(is_kernel(K::blocks_to_columns),
                                 [](const OpPlace& at) {
                                   return at.program.shapes[at.op.shape].dims[2] > 1;
                                 }),
                            [](Shape& shape) { shape.dims[2] = 1; });
             }},
};

}  // namespace

std::span<const Mutation> latent_mutations() {
  return kMutations;
}

}  // namespace windtunnel::proof
