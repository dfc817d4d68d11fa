#pragma once
// One op of a step on its way through a stream: what the host resolved when it issued it, and what
// the stream's thread leaves behind.

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/device/communicator.h"
#include "program/program.h"
#include "program/trace.h"
#include "runtime/device_call.h"
#include "runtime/memory_range.h"

namespace windtunnel {

struct OpTask {
  const Op* op = nullptr;
  const Call* call = nullptr;
  std::uint32_t call_index = 0;
  OperandBlocks operands{};
  std::array<MemoryRange, kMostOperands> ranges{};
  std::vector<ParamRange> norm_ranges;  // sum_squares only
  Communicator::Ticket ticket = 0;      // transfers
  std::uint32_t group_end = 0;          // first of a group of transfers: one past its last task
  TraceRecord* record = nullptr;        // null: not recorded
};

}  // namespace windtunnel
