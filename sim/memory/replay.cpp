#include "sim/memory/replay.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "core/check.h"
#include "sim/memory/call_period.h"
#include "sim/memory/memory_ops.h"
#include "sim/memory/recurrence.h"

namespace windtunnel {
namespace {

constexpr const char* kWorkspaceName = "cublas workspace";

MemoryPeaks larger_of(const MemoryPeaks& a, const MemoryPeaks& b) {
  return {.allocated = std::max(a.allocated, b.allocated),
          .reserved = std::max(a.reserved, b.reserved),
          .held = std::max(a.held, b.held)};
}

class Replay {
 public:
  Replay(const Program& program, int role, const ReplaySettings& settings)
      : program_(program),
        role_(program.roles[static_cast<std::size_t>(role)]),
        settings_(settings),
        ops_(memory_ops(program, role_, settings.cublas_workspace_bytes)),
        allocator_(settings.allocator),
        instances_(ops_.instances, CachingAllocator::kNoBlock),
        live_(ops_.slots.size(), 0) {}

  ReplayResult run() {
    result_.timeline.reserve(role_.prologue.size() + 2 * role_.calls.size());
    run_calls(-1, ops_.prologue);
    for (int step = 0; step < 2 && !result_.oom; ++step) run_step(step);
    if (peak_is_now_) live_at_peak_ = live_;
    report_peak();
    result_.retries = allocator_.stats().retries;
    return std::move(result_);
  }

 private:
  void run_calls(int step, std::span<const CallMemory> calls);
  void run_step(int step);
  void skip_cycles(const CallPeriod& period, int next, int cycle_calls, int cycles);
  void run_call(int step, int number, const CallMemory& call);
  void take(const MemoryOp& op, std::uint32_t instance);
  void give_back(const MemoryOp& op, std::uint32_t instance);
  void out_of_memory(const MemoryOp& op);
  void record(const MemorySample& sample);
  void report_peak();
  std::string name_of_slot(std::uint32_t slot) const;
  Moment moment_of(int step, int call, std::uint32_t op) const;

  const Program& program_;
  const Role& role_;
  const ReplaySettings& settings_;
  MemoryOps ops_;
  CachingAllocator allocator_;
  Recurrence::Instances instances_;
  std::vector<std::int32_t> live_, live_at_peak_;  // instances by slot
  ReplayResult result_;
  int step_ = -1, call_ = -1;  // being replayed
  std::int32_t skipped_micro_batches_ = 0;
  std::int64_t call_peak_ = 0;  // allocated
  std::int64_t peak_ = -1;      // allocated, overall
  bool peak_is_now_ = false;    // nothing was freed since the peak: `live_` describes it
};

void Replay::run_calls(int step, std::span<const CallMemory> calls) {
  for (std::size_t c = 0; c < calls.size() && !result_.oom; ++c) {
    run_call(step, static_cast<int>(c), calls[c]);
  }
}

void Replay::run_step(int step) {
  const std::vector<CallMemory>& calls = ops_.step(step);
  const CallPeriod period =
      settings_.steady == ReplaySettings::Steady::skip ? find_period(calls) : CallPeriod{};
  Recurrence recurrence(ops_, calls, period);
  bool watching = period.periods() > 0;
  skipped_micro_batches_ = 0;
  for (int c = 0; c < static_cast<int>(calls.size()) && !result_.oom; ++c) {
    run_call(step, c, calls[static_cast<std::size_t>(c)]);
    const int done = c + 1 - period.begin;
    if (!watching || done <= 0 || done % period.length != 0) continue;
    const auto cycle = recurrence.observe(done / period.length, allocator_, instances_);
    if (!cycle) continue;
    watching = false;
    const int cycle_calls = *cycle * period.length;
    const int cycles = (period.end - (c + 1)) / cycle_calls;
    skip_cycles(period, c + 1, cycle_calls, cycles);
    c += cycle_calls * cycles;
  }
}

/// Leaves out `cycles` cycles from call `next` on, each like the one just replayed. Their samples
/// are that cycle's again; instances that are live afterwards belong to later micro-batches, so
/// later calls look for them that much earlier.
void Replay::skip_cycles(const CallPeriod& period, int next, int cycle_calls, int cycles) {
  for (int c = next; c < next + cycle_calls * cycles; ++c) {
    MemorySample sample =
        result_.timeline[result_.timeline.size() - static_cast<std::size_t>(cycle_calls)];
    sample.call = c;
    record(sample);
  }
  skipped_micro_batches_ += cycle_calls / period.length * cycles * period.shift;
  result_.calls_skipped += std::int64_t{cycle_calls} * cycles;
}

void Replay::run_call(int step, int number, const CallMemory& call) {
  step_ = step;
  call_ = number;
  call_peak_ = allocator_.stats().allocated;
  allocator_.reset_peaks();
  const std::int32_t micro_batch = call.micro_batch - skipped_micro_batches_;
  for (const MemoryOp& op : ops_.ops_of(call)) {
    const std::uint32_t instance = ops_.instance(op, micro_batch);
    if (op.kind == MemoryOp::Kind::free) {
      give_back(op, instance);
    } else if (op.kind == MemoryOp::Kind::alloc ||
               instances_[instance] == CachingAllocator::kNoBlock) {
      take(op, instance);
      if (result_.oom) break;
    }
  }
  result_.ops_replayed += call.end - call.begin;
  record({.step = step,
          .call = number,
          .peaks = {.allocated = call_peak_,
                    .reserved = allocator_.stats().peak_reserved,
                    .held = allocator_.stats().peak_held}});
}

void Replay::take(const MemoryOp& op, std::uint32_t instance) {
  CHECK(instances_[instance] == CachingAllocator::kNoBlock, "an instance is taken once");
  const CachingAllocator::Block block = allocator_.alloc_block(op.size, op.pool);
  if (block == CachingAllocator::kOutOfMemory) {
    out_of_memory(op);
    return;
  }
  instances_[instance] = block;
  ++live_[op.slot];
  const std::int64_t allocated = allocator_.stats().allocated;
  call_peak_ = std::max(call_peak_, allocated);
  if (allocated > peak_) {
    peak_ = allocated;
    peak_is_now_ = true;
    result_.peak_moment = {.step = step_, .call = call_, .op = op.op};
  }
}

void Replay::give_back(const MemoryOp& op, std::uint32_t instance) {
  if (peak_is_now_) {
    live_at_peak_ = live_;
    peak_is_now_ = false;
  }
  CHECK(instances_[instance] != CachingAllocator::kNoBlock,
        "an instance is taken before it is freed");
  allocator_.free(instances_[instance]);
  instances_[instance] = CachingAllocator::kNoBlock;
  --live_[op.slot];
}

void Replay::out_of_memory(const MemoryOp& op) {
  result_.oom = OutOfMemory{.moment = moment_of(step_, call_, op.op),
                            .tensor = name_of_slot(op.slot),
                            .category = ops_.slots[op.slot].category,
                            .requested = op.size,
                            .allocated = allocator_.stats().allocated,
                            .reserved = allocator_.stats().reserved};
}

void Replay::record(const MemorySample& sample) {
  MemoryPeaks& part = sample.step < 0    ? result_.startup
                      : sample.step == 0 ? result_.first_step
                                         : result_.later_step;
  part = larger_of(part, sample.peaks);
  result_.peak = larger_of(result_.peak, sample.peaks);
  result_.timeline.push_back(sample);
}

void Replay::report_peak() {
  Moment& moment = result_.peak_moment;
  if (moment.op != kNone) moment = moment_of(moment.step, moment.call, moment.op);
  std::map<std::pair<std::string, Category>, Contributor> by_name;
  result_.rounding_bytes = result_.peak.allocated;
  for (std::uint32_t s = 0; s < live_at_peak_.size(); ++s) {
    if (live_at_peak_[s] == 0) continue;
    const MemorySlot& slot = ops_.slots[s];
    const std::int64_t bytes = slot.bytes * live_at_peak_[s];
    result_.by_category[static_cast<std::size_t>(slot.category)] += bytes;
    result_.rounding_bytes -= bytes;
    Contributor& contributor = by_name[{name_of_slot(s), slot.category}];
    contributor.bytes += bytes;
    contributor.instances += live_at_peak_[s];
  }
  for (auto& [key, contributor] : by_name) {
    contributor.name = key.first;
    contributor.category = key.second;
    result_.contributors.push_back(std::move(contributor));
  }
  std::stable_sort(result_.contributors.begin(), result_.contributors.end(),
                   [](const Contributor& a, const Contributor& b) { return a.bytes > b.bytes; });
  if (result_.contributors.size() > settings_.contributors) {
    result_.contributors.resize(settings_.contributors);
  }
}

std::string Replay::name_of_slot(std::uint32_t slot) const {
  const std::uint32_t name = ops_.slots[slot].name;
  return name == kNone ? kWorkspaceName : program_.names[name];
}

Moment Replay::moment_of(int step, int call, std::uint32_t op) const {
  const std::vector<Call>& calls = step < 0 ? role_.prologue : role_.calls;
  const Call& at = calls[static_cast<std::size_t>(call)];
  return {.step = step,
          .call = call,
          .op = op,
          .phase = program_.ops[op].phase,
          .chunk = at.chunk,
          .micro_batch = at.micro_batch};
}

}  // namespace

ReplayResult replay_memory(const Program& program, int role, const ReplaySettings& settings) {
  CHECK(role >= 0 && static_cast<std::size_t>(role) < program.roles.size(), "role exists");
  return Replay(program, role, settings).run();
}

}  // namespace windtunnel
