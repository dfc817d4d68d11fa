#pragma once
// One rank of an execution: its memory, its parameters, and where it stands in its calls.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "program/mesh.h"
#include "runtime/rank_memory.h"
#include "runtime/rank_params.h"
#include "runtime/stream_order.h"

namespace windtunnel {

/// The op a rank executes next; step -1 is the prologue.
struct Position {
  int step = -1;
  std::size_t call = 0, op = 0;
};

struct RankPlace {
  int id = 0;
  Coordinates at;
  std::int64_t granularity = 1;  // ExecutionOptions::allocation_granularity
};

template <class T>
struct RankState {
  RankState(const Program& program, const Role& its_role, const RankPlace& place)
      : id(place.id),
        at(place.at),
        role(&its_role),
        memory(program, its_role, place.at, place.granularity),
        params(program, its_role, place.at) {}

  int id;
  Coordinates at;
  const Role* role;
  RankMemory<T> memory;
  RankParams params;
  StreamOrder order;
  Position position;
  std::vector<Ticket> awaited;  // transfers on the compute stream: nothing runs before them
  std::set<SlotId> used;        // weights recorded in this step
  bool done = false;

  const std::vector<Call>& calls() const {
    return position.step < 0 ? role->prologue : role->calls;
  }
};

/// Master weights start as the weights they belong to: the optimizer's op names both.
template <class T>
void start_masters(const Program& program, RankState<T>& rank) {
  for_each_update(program, *rank.role, [&](const Op& op, const Call& call) {
    const SlotId master = program.operands(op)[op.inputs];
    const SlotId weight = program.operands(op).back();
    const MemoryRange to = rank.memory.resolve(master, call.micro_batch);
    const MemoryRange from = rank.memory.resolve(weight, call.micro_batch);
    if (to.elements() != from.elements()) {
      throw ExecutionError(rank.memory.name(master) + " and " + rank.memory.name(weight) +
                           " differ in size");
    }
    if (to.root == from.root) return;
    const T* values = rank.memory.written(from, weight);
    std::copy(values, values + from.elements(), rank.memory.data(to, master));
  });
}

}  // namespace windtunnel
