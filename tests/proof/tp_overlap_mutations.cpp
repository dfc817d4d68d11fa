#include "tests/proof/tp_overlap_mutations.h"

#include <array>

#include "tests/proof/program_edit.h"

namespace windtunnel::proof {

namespace {

using C = Collective;
using K = Kernel;

OpTest shifts() {
  return is_collective(C::ring_shift, "tp");
}

/// Products' results of the next rank's rows where this rank's belong, and so on around the ring.
void turn_results(Program& p, const std::string& name) {
  for (Role& role : p.roles) {
    for (Slot& slot : role.slots) {
      if (p.names[slot.name] != name || slot.parent == kNone) continue;
      slot.tp_back = (slot.tp_back + 1) % p.mesh.tp;
    }
  }
}

/// Every range of output features is scattered where the one before it belongs.
void turn_columns(Program& p) {
  for (Role& role : p.roles) {
    for (Slot& slot : role.slots) {
      if (p.names[slot.name] != "columns_scattered") continue;
      slot.offset = (slot.offset + slot.elements) % role.slots[slot.parent].elements;
    }
  }
}

const std::array kMutations = {
    Mutation{"a product does not wait for the rows that come", "tp4_overlap", Check::verify,
             [](Program& p) {
               drop(p, first(both(in_phase(Phase::forward), is_wait_on(Stream::compute))));
             }},
    Mutation{
        "an input gradient does not wait for the rows that come", "tp4_overlap", Check::execution,
        [](Program& p) { drop(p, both(in_phase(Phase::backward), is_wait_on(Stream::compute))); }},
    Mutation{"columns scattered before their product", "tp2_overlap", Check::execution,
             [](Program& p) { drop(p, both(in_phase(Phase::forward), is_wait_on(Stream::tp))); }},
    Mutation{"rows multiplied into the place of the rank before", "tp4_overlap", Check::field,
             [](Program& p) { turn_results(p, "fc1"); }},
    Mutation{"columns scattered out of their order", "tp2_overlap", Check::field, turn_columns},
    Mutation{"own rows of a gathered gradient left out", "tp2_overlap", Check::execution,
             [](Program& p) { drop(p, both(in_phase(Phase::backward), is_kernel(K::copy))); }},
    Mutation{"rows handed on to the rank before", "tp4_overlap", Check::field,
             [](Program& p) { change(p, shifts(), [](Op& op) { op.distance = 3; }); }},
    Mutation{"all partial sums sent to the next rank", "tp4_dp2_async_tp_recompute", Check::field,
             [](Program& p) { change(p, shifts(), [](Op& op) { op.distance = 1; }); }},
};

}  // namespace

std::span<const Mutation> tp_overlap_mutations() {
  return kMutations;
}

}  // namespace windtunnel::proof
