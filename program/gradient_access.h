#pragma once
// What the checks of reductions share: the ops that make, reduce and read a gradient buffer, in
// host issue order.

#include <cstdint>
#include <vector>

#include "program/slot_part.h"
#include "program/verify_facts.h"

namespace windtunnel {

struct GradientAccess {
  SlotPart part;
  std::uint32_t call = 0, op = 0;
  std::uint32_t count = 1;  // executions in a step

  std::uint64_t order() const { return std::uint64_t{call} << 32 | op; }
};

/// Of one role.
struct GradientUses {
  std::vector<GradientAccess> writes;  // kernels that add to a gradient, their last execution
  std::vector<GradientAccess> reads;   // what takes it as it is: the optimizer, a copy to the host

  /// The roots that are read, ascending.
  std::vector<SlotId> buffers() const;
};

std::string text_of(const Program& program, std::size_t role, const GradientAccess& access);

/// A reduction stands behind all that adds to its part and before all that reads it.
void check_between(const Program& program, std::size_t role, const GradientAccess& reduction,
                   const GradientUses& uses, Violations& violations);

}  // namespace windtunnel
