#pragma once
// What a program needs measured: its distinct kernel shapes and transfers, the most expensive
// first.
//
// Expensive by a rough estimate that only orders: 5 GFLOP/s of arithmetic, 5 GB/s of memory,
// whichever takes longer, times the runs of one step on the rank that runs it most. Transfers count
// their bytes at 1 GB/s and 20 us each.

#include <cstdint>
#include <vector>

#include "calibrate/measure/old_memory.h"
#include "models/cost/cost_model.h"
#include "program/program.h"

namespace windtunnel {

struct ShapeUse {
  Shape shape;
  std::int64_t runs = 0;       // in one step, on the rank that runs it most
  double rough_seconds = 0.0;  // of all runs
};

/// A transfer by the groups that do it at the same time.
struct TransferUse {
  CommKind kind = CommKind::all_reduce;
  ReduceOp reduce = ReduceOp::none;
  Dtype dtype = Dtype::none;
  std::int64_t elements = 0;             // of the full tensor
  std::vector<std::vector<int>> groups;  // members of each ascending; send_recv: sender, receiver
  std::int64_t runs = 0;
  double rough_seconds = 0.0;
  PartPlace part = PartPlace::inside;  // of its uses the one furthest away
  std::int64_t touched_bytes = 0;      // of the step

  std::int64_t bytes() const { return bytes_of(dtype, elements); }
  int ranks() const { return static_cast<int>(groups.front().size()); }
};

struct ProgramShapes {
  std::vector<ShapeUse> kernels;
  std::vector<TransferUse> transfers;  // one per kind, type, size and communicator
  /// What a step touches on the fullest rank: static memory and one micro-batch's activations.
  std::int64_t touched_bytes = 0;
};

/// Of a step that is not the first; shapes that do not run in it are listed with 0 runs. Host work
/// has no shape here. O(roles x ops + calls).
ProgramShapes list_shapes(const Program& program);

/// The estimate of one run.
double rough_seconds(const Shape& shape);

}  // namespace windtunnel
