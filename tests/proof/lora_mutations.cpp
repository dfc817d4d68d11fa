#include "tests/proof/lora_mutations.h"

#include <array>
#include <string>

#include "core/check.h"
#include "tests/proof/program_edit.h"

namespace windtunnel::proof {

namespace {

using K = Kernel;

void whole(Shape& scale) {
  scale.dims[2] = scale.dims[1];
}

/// All-reduces over tp of a tensor of this name.
OpTest summed(const char* name) {
  return both(all_reduce("tp"), [name](const OpPlace& at) {
    const Slot& slot = at.operand(at.program.roles[0], 0);
    return at.program.names[slot.name] == name;
  });
}

/// Sums into an input's gradient of what an adapter's product left.
OpTest adds_adapters_gradient() {
  return both(both(is_kernel(K::add), in_phase(Phase::backward)), [](const OpPlace& at) {
    const Slot& second = at.operand(at.program.roles[0], 1);
    return at.program.names[second.name] == "dgrad";
  });
}

/// The optimizer writes what it made of adapters where as many frozen weights lie.
void update_frozen(Program& p) {
  Role& role = p.roles[0];
  SlotId frozen = kNone;
  for (SlotId id = 0; id < role.slots.size(); ++id) {
    const Slot& slot = role.slots[id];
    if (slot.parent == kNone && p.names[slot.name].rfind("weights.", 0) == 0) frozen = id;
  }
  CHECK(frozen != kNone, "frozen weights lie in the last buffer");
  for (const Op& op : p.ops) {
    if (op.kind != OpKind::compute || p.shapes[op.shape].kernel != K::adamw) continue;
    const std::uint32_t written = op.ref_begin + op.refs - 1U;
    Slot view = role.slots[frozen];
    view.parent = frozen;
    view.elements = role.slots[p.refs[written]].elements;
    role.slots.push_back(view);
    p.refs[written] = static_cast<SlotId>(role.slots.size() - 1);
  }
}

const std::array kMutations = {
    Mutation{"adapters not scaled by alpha / r", "lora", Check::field,
             [](Program& p) { change_shape(p, is_kernel(K::scale), whole); }},
    Mutation{"adapters not scaled in backward alone", "lora", Check::field,
             [](Program& p) {
               change_shape(p, both(is_kernel(K::scale), in_phase(Phase::backward)), whole);
             }},
    Mutation{"adapters' gradients not reduced", "lora_dp2", Check::verify,
             [](Program& p) { drop(p, of_gradients("dp")); }},
    Mutation{"a frozen weight updated in an adapter's place", "lora", Check::field, update_frozen},
    Mutation{"adapters' part of an input's gradient left out", "lora", Check::field,
             [](Program& p) { drop(p, adds_adapters_gradient()); }},
    Mutation{"a low-rank output of one rank's columns", "lora_tp2", Check::field,
             [](Program& p) { drop(p, summed("adapter_low")); }},
    Mutation{"a low-rank gradient of one rank's output features", "lora_tp2", Check::field,
             [](Program& p) { drop(p, first(summed("dgrad"))); }},
    Mutation{"an adapter's input gradient of one rank", "lora_tp2", Check::field,
             [](Program& p) {
               const std::int64_t wide = p.job.micro * p.job.sequence * 16;  // toy: hidden
               drop(p, first(both(summed("dgrad"),
                                  [wide](const OpPlace& at) { return at.op.elements == wide; })));
             }},
};

}  // namespace

std::span<const Mutation> lora_mutations() {
  return kMutations;
}

}  // namespace windtunnel::proof
