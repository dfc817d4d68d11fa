#include "sim/memory/memory_ops.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/check.h"
#include "models/allocator/caching_allocator.h"

namespace windtunnel {
namespace {

// Host threads with a cuBLAS handle of their own: the training loop's and autograd's.
constexpr std::uint32_t kThreads = 2;
/// The pool of captured graphs: past those of the streams.
constexpr Stream kGraphPool = Stream::count;

std::uint32_t thread_of(const Op& op) {
  return op.phase == Phase::backward || op.phase == Phase::weight_grad ? 1 : 0;
}

/// The smallest power of two above the distance of any two micro-batches that are open at once
/// (from the first to the last call that names them).
std::uint32_t window_of(std::span<const Call> calls) {
  std::int32_t highest = -1;
  for (const Call& call : calls) highest = std::max(highest, call.micro_batch);
  std::vector<std::size_t> last(static_cast<std::size_t>(highest + 1), 0);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].micro_batch >= 0) last[static_cast<std::size_t>(calls[i].micro_batch)] = i;
  }
  std::int32_t oldest = 0;
  std::uint32_t widest = 1;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::int32_t now = calls[i].micro_batch;
    while (oldest < now && last[static_cast<std::size_t>(oldest)] < i) ++oldest;
    if (now >= 0) widest = std::max(widest, static_cast<std::uint32_t>(now - oldest + 1));
  }
  return std::bit_ceil(widest);
}

class Compiler {
 public:
  Compiler(const Program& program, const Role& role, std::int64_t workspace_bytes)
      : program_(program), role_(role), workspace_bytes_(workspace_bytes) {}

  MemoryOps compile() {
    out_.window = window_of(role_.calls);
    place_slots();
    add_workspaces();
    lists_.resize(program_.segments.size() * kListsOfSegment);
    out_.prologue = compile_calls(role_.prologue, 0);
    out_.first_step = compile_calls(role_.calls, 0);
    out_.later_step = compile_calls(role_.calls, 1);
    return std::move(out_);
  }

 private:
  struct Place {
    std::uint32_t place = 0, stride = 0;
  };
  struct List {
    std::uint32_t begin = 0, end = 0;
    bool known = false;
  };
  // A segment's list depends on the call's two flags and on whether it is the first step.
  static constexpr std::size_t kListsOfSegment = 8;
  static constexpr std::size_t kFirstStep = 4;

  void place_slots();
  void add_workspaces();
  std::vector<CallMemory> compile_calls(std::span<const Call> calls, int step);
  List compile_list(const Call& call, int step);
  void add_slot_op(const Op& op, std::uint32_t index);
  void add_workspace_op(const Op& op, std::uint32_t index);
  bool same(const List& a, const List& b) const {
    const auto first = out_.ops.begin();
    return std::equal(first + a.begin, first + a.end, first + b.begin, first + b.end);
  }

  const Program& program_;
  const Role& role_;
  std::int64_t workspace_bytes_;
  MemoryOps out_;
  std::vector<Place> places_;  // by slot
  std::vector<List> lists_;    // by segment, flags
  std::uint32_t first_workspace_ = 0;
};

/// Instances: statics and scratch first, then per chunk [micro-batch modulo window][frame slot].
void Compiler::place_slots() {
  std::vector<std::uint32_t> frame_slots(role_.chunks.size(), 0);
  for (const Slot& slot : role_.slots) {
    out_.slots.push_back({.bytes = slot.bytes(), .category = slot.category, .name = slot.name});
    if (slot.space != Space::frame || slot.parent != kNone) {
      places_.push_back({.place = out_.instances++});
      continue;
    }
    CHECK(slot.chunk >= 0 && static_cast<std::size_t>(slot.chunk) < frame_slots.size(),
          "a frame slot belongs to a chunk");
    places_.push_back({.place = frame_slots[static_cast<std::size_t>(slot.chunk)]++});
  }
  for (const std::uint32_t count : frame_slots) {
    out_.frames.push_back({.first = out_.instances, .slots = count});
    out_.instances += count * out_.window;
  }
  for (std::size_t s = 0; s < role_.slots.size(); ++s) {
    const Slot& slot = role_.slots[s];
    if (slot.space != Space::frame || slot.parent != kNone) continue;
    const FrameInstances& frame = out_.frames[static_cast<std::size_t>(slot.chunk)];
    places_[s].place += frame.first;
    places_[s].stride = frame.slots;
  }
}

void Compiler::add_workspaces() {
  first_workspace_ = static_cast<std::uint32_t>(out_.slots.size());
  for (std::uint32_t i = 0; i < kThreads * static_cast<std::uint32_t>(Stream::count); ++i) {
    out_.slots.push_back({.bytes = workspace_bytes_, .category = Category::workspace});
    places_.push_back({.place = out_.instances++});
  }
}

std::vector<CallMemory> Compiler::compile_calls(std::span<const Call> calls, int step) {
  std::vector<CallMemory> compiled;
  compiled.reserve(calls.size());
  for (const Call& call : calls) {
    const std::size_t flags = (call.first_micro_batch ? 1U : 0U) +
                              (call.last_micro_batch ? 2U : 0U) + (step == 0 ? kFirstStep : 0U);
    const std::size_t key = call.segment * kListsOfSegment + flags;
    if (!lists_[key].known) {
      lists_[key] = compile_list(call, step);
      const List& other_step = lists_[key ^ kFirstStep];
      if (other_step.known && same(other_step, lists_[key])) {
        out_.ops.resize(lists_[key].begin);
        lists_[key] = other_step;
      }
    }
    compiled.push_back(
        {.begin = lists_[key].begin, .end = lists_[key].end, .micro_batch = call.micro_batch});
  }
  return compiled;
}

Compiler::List Compiler::compile_list(const Call& call, int step) {
  const auto begin = static_cast<std::uint32_t>(out_.ops.size());
  const Segment& segment = program_.segments[call.segment];
  std::uint32_t streams_with_workspace = 0;
  for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
    const Op& op = program_.ops[i];
    if (op.kind == OpKind::alloc || op.kind == OpKind::free) {
      if (runs(op, call, step)) add_slot_op(op, i);
    } else if (op.kind == OpKind::compute && workspace_bytes_ > 0 && runs(op, call, step) &&
               row_of(program_.shapes[op.shape].kernel).cls == KernelClass::gemm) {
      const std::uint32_t bit =
          1U << (static_cast<std::uint32_t>(op.stream) * kThreads + thread_of(op));
      if ((streams_with_workspace & bit) == 0) add_workspace_op(op, i);
      streams_with_workspace |= bit;
    }
  }
  return {.begin = begin, .end = static_cast<std::uint32_t>(out_.ops.size()), .known = true};
}

void Compiler::add_slot_op(const Op& op, std::uint32_t index) {
  const SlotId slot = program_.refs[op.ref_begin];
  CHECK(slot < role_.slots.size(), "alloc and free name a slot of the role");
  const Slot& what = role_.slots[slot];
  CHECK(what.parent == kNone, "a view holds no memory");
  if (what.host) return;          // not the device's (sim/memory/host_memory.h)
  if (what.bytes() == 0) return;  // the framework hands out no block for an empty tensor
  const std::int64_t size = block_bytes(what.bytes());
  const Stream pool = what.in_graph ? kGraphPool : what.pool;
  out_.ops.push_back(
      {.size = size,
       .place = places_[slot].place,
       .stride = places_[slot].stride,
       .slot = slot,
       .op = index,
       .pool = static_cast<std::uint16_t>(CachingAllocator::pool_of(size, static_cast<int>(pool))),
       .kind = op.kind == OpKind::alloc ? MemoryOp::Kind::alloc : MemoryOp::Kind::free});
}

void Compiler::add_workspace_op(const Op& op, std::uint32_t index) {
  const auto stream = static_cast<std::uint32_t>(op.stream);
  const std::uint32_t slot = first_workspace_ + stream * kThreads + thread_of(op);
  const std::int64_t size = block_bytes(workspace_bytes_);
  out_.ops.push_back({.size = size,
                      .place = places_[slot].place,
                      .slot = slot,
                      .op = index,
                      .pool = static_cast<std::uint16_t>(
                          CachingAllocator::pool_of(size, static_cast<int>(op.stream))),
                      .kind = MemoryOp::Kind::workspace});
}

}  // namespace

MemoryOps memory_ops(const Program& program, const Role& role,
                     std::int64_t cublas_workspace_bytes) {
  return Compiler(program, role, cublas_workspace_bytes).compile();
}

}  // namespace windtunnel
