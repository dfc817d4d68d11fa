#include "tests/proof/offload_mutations.h"

#include <array>
#include <utility>
#include <vector>

#include "tests/proof/program_edit.h"

namespace windtunnel::proof {

namespace {

using K = Kernel;

/// The host's weights and what it makes of them belong to other elements of the shard.
void shift_host_parts(Program& p) {
  for (Role& role : p.roles) {
    for (Slot& slot : role.slots) {
      if (!slot.host || slot.shard_of == kNone) continue;
      slot.offset = role.slots[slot.shard_of].elements / slot.dp_ways - slot.elements;
    }
  }
}

/// The first two layers' copies from the host read each other's tensors.
void swap_returns(Program& p) {
  std::vector<const Op*> copies;
  for (const Op& op : p.ops) {
    if (op.kind == OpKind::compute && p.shapes[op.shape].kernel == K::to_device)
      copies.push_back(&op);
  }
  for (std::size_t i = 0; i < copies[0]->inputs; ++i)
    std::swap(p.refs[copies[0]->ref_begin + i], p.refs[copies[1]->ref_begin + i]);
}

/// Each copy of a shard from the host stands behind the gather it is for.
void move_fetches_back(Program& p) {
  for (std::size_t i = 0; i + 1 < p.ops.size(); ++i) {
    const bool fetch =
        p.ops[i].kind == OpKind::compute && p.shapes[p.ops[i].shape].kernel == K::to_device;
    if (fetch && p.ops[i + 1].kind == OpKind::collective) std::swap(p.ops[i], p.ops[i + 1]);
  }
}

const std::array kMutations = {
    Mutation{"updated weights not brought back", "offload_optimizer", Check::field,
             [](Program& p) { drop(p, is_kernel(K::to_device)); }},
    Mutation{"weights brought back before the host's update", "offload_optimizer_half_overlap",
             Check::verify,
             [](Program& p) {
               drop(p, both(in_phase(Phase::optimizer), is_wait_on(Stream::to_device)));
             }},
    Mutation{"the host updates before its gradients came", "dp2_zero2_offload", Check::verify,
             [](Program& p) { drop(p, is_wait_on(Stream::host)); }},
    Mutation{
        "gradients copied before they are reduced", "dp2_zero2_offload", Check::verify,
        [](Program& p) { drop(p, both(in_phase(Phase::grad_sync), is_wait_on(Stream::to_host))); }},
    Mutation{"gradients of the first micro-batch copied", "dp2_zero2_offload", Check::verify,
             [](Program& p) {
               change(p, both(in_phase(Phase::grad_sync), is_kernel(K::to_host)),
                      [](Op& op) { op.when = When::first_micro_batch; });
             }},
    Mutation{"gradients copied in every micro-batch but the last", "offload_optimizer_half_overlap",
             Check::verify,
             [](Program& p) {
               change(p, both(in_phase(Phase::grad_sync), is_kernel(K::to_host)),
                      [](Op& op) { op.when = When::not_last_micro_batch; });
             }},
    Mutation{
        "the next step does not wait for the weights", "offload_optimizer_half_overlap",
        Check::verify,
        [](Program& p) { drop(p, both(in_phase(Phase::optimizer), is_wait_on(Stream::compute))); }},
    Mutation{"the host's part taken from the wrong end", "dp4_zero1_shards_of_2_offload",
             Check::field, shift_host_parts},
    Mutation{"activations not brought back", "offload_activations", Check::execution,
             [](Program& p) { drop(p, in_segment(is_kernel(K::to_device), "backward")); }},
    Mutation{"a layer's backward does not wait for its activations", "offload_activations",
             Check::verify,
             [](Program& p) { drop(p, in_segment(is_wait_on(Stream::compute), "backward")); }},
    Mutation{"activations given back before they are copied", "offload_activations", Check::verify,
             [](Program& p) { drop(p, in_segment(is_wait_on(Stream::compute), "forward")); }},
    Mutation{"activations copied before they are made", "offload_activations", Check::verify,
             [](Program& p) { drop(p, in_segment(is_wait_on(Stream::to_host), "forward")); }},
    Mutation{"activations of another layer brought back", "offload_activations", Check::verify,
             swap_returns},
    Mutation{"shards gathered that were not brought", "dp2_fsdp2_offload", Check::execution,
             [](Program& p) { drop(p, is_kernel(K::to_device)); }},
    Mutation{"shards gathered before they came", "dp4_zero3_offload_all", Check::execution,
             move_fetches_back},
};

}  // namespace

std::span<const Mutation> offload_mutations() {
  return kMutations;
}

}  // namespace windtunnel::proof
