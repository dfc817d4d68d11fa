#pragma once
// The allocations and frees of one role, call by call, in host issue order, ready to be replayed.
//
// Ops that do not touch memory and views are left out, `when` is decided, sizes are rounded, and
// every slot instance has a place in one table: a frame slot has one instance per micro-batch, kept
// modulo `window`, the smallest power of two that no two open micro-batches of the role collide in.
// Calls that do the same share one list, so equal lists mean equal allocator work.
//
// cuBLAS takes a workspace from the allocator at the first matrix product of each (handle, stream);
// handles belong to host threads and autograd runs the backward in its own (pytorch/pytorch
// aten/src/ATen/cuda/CublasHandlePool.cpp). These are slots of their own behind the role's.

#include <cstdint>
#include <span>
#include <vector>

#include "program/program.h"

namespace windtunnel {

struct MemoryOp {
  enum class Kind : std::uint8_t { alloc, free, workspace };

  std::int64_t size = 0;     // of the block, rounded
  std::uint32_t place = 0;   // in the instance table, at micro-batch 0
  std::uint32_t stride = 0;  // per micro-batch; 0 for statics and scratch
  std::uint32_t slot = 0;    // in MemoryOps::slots
  std::uint32_t op = 0;      // in Program::ops
  std::uint16_t pool = 0;    // the allocator's
  Kind kind = Kind::alloc;

  friend bool operator==(const MemoryOp&, const MemoryOp&) = default;
};

/// What a slot holds, for reports.
struct MemorySlot {
  std::int64_t bytes = 0;  // of one instance, before rounding
  Category category = Category::activations;
  std::uint32_t name = kNone;  // in Program::names; kNone: a cuBLAS workspace
};

/// One call's list, [begin, end) in MemoryOps::ops.
struct CallMemory {
  std::uint32_t begin = 0, end = 0;
  std::int32_t micro_batch = -1;
};

/// Instances of one chunk's frames: [micro-batch modulo window][slots], from `first` on.
struct FrameInstances {
  std::uint32_t first = 0, slots = 0;
};

struct MemoryOps {
  std::vector<MemoryOp> ops;
  std::vector<MemorySlot> slots;
  std::vector<FrameInstances> frames;  // by chunk
  std::vector<CallMemory> prologue, first_step, later_step;
  std::uint32_t instances = 0, window = 1;

  const std::vector<CallMemory>& step(int number) const {
    return number == 0 ? first_step : later_step;
  }
  std::span<const MemoryOp> ops_of(const CallMemory& call) const {
    return {ops.data() + call.begin, ops.data() + call.end};
  }
  /// Index into the instance table; `micro_batch` is ignored by statics and scratch.
  std::uint32_t instance(const MemoryOp& op, std::int32_t micro_batch) const {
    return op.place + (static_cast<std::uint32_t>(micro_batch) & (window - 1)) * op.stride;
  }
};

/// `cublas_workspace_bytes`: of one (handle, stream); 0 for none.
MemoryOps memory_ops(const Program& program, const Role& role, std::int64_t cublas_workspace_bytes);

}  // namespace windtunnel
