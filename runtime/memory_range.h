#pragma once
// Where a slot lies: elements of one instance of a root slot.

#include <cstdint>
#include <string>

#include "program/mesh.h"
#include "program/program.h"
#include "runtime/execution.h"

namespace windtunnel {

/// Elements [begin, end) of one instance of a root slot.
struct MemoryRange {
  SlotId root = kNone;
  std::int32_t micro_batch = -1;  // -1 for statics and scratch
  std::int64_t begin = 0, end = 0;

  std::int64_t elements() const { return end - begin; }
  bool overlaps(std::int64_t from, std::int64_t to) const { return begin < to && from < end; }
};

/// A slot named by a call of a micro-batch.
struct SlotUse {
  SlotId slot = kNone;
  std::int32_t micro_batch = -1;
};

/// "slot 'name' (#id)"
std::string slot_name(const Program& program, const Role& role, SlotId id);

/// Resolves views through their parents. Throws ExecutionError when a view reaches beyond its root.
MemoryRange resolve_range(const Program& program, const Role& role, const Coordinates& at,
                          const SlotUse& use);

}  // namespace windtunnel
