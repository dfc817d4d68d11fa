#pragma once
// Bytes a role holds on its device at each moment of a step, by category: its program's allocations
// and frees in host issue order. Statics are taken in the prologue; the step's own begin from
// there.

#include <array>
#include <cstdint>

#include "program/program.h"

namespace windtunnel {

class MemoryCounter {
 public:
  static constexpr std::size_t kCategories = static_cast<std::size_t>(Category::count);

  /// After the role's prologue.
  MemoryCounter(const Program& program, const Role& role);

  /// Runs the allocations and frees of a call's ops before `op_end` that have not run yet. Calls
  /// are given in order, ops within a call too.
  void advance(std::uint32_t call, std::uint32_t op_end);

  /// Bytes now, by category.
  const std::array<std::int64_t, kCategories>& bytes() const { return bytes_; }

 private:
  void apply(const Op& op);

  const Program& program_;
  const Role& role_;
  std::array<std::int64_t, kCategories> bytes_{};
  std::uint32_t call_ = 0, op_ = 0;  // the next op to run
};

}  // namespace windtunnel
