#include "sim/memory/verdict.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <numbers>
#include <optional>
#include <thread>
#include <utility>

#include "core/check.h"

namespace windtunnel {
namespace {

ReplaySettings settings_of(const MemoryQuestion& question, std::int64_t capacity_bytes) {
  return {.allocator = {.capacity_bytes = capacity_bytes,
                        .expandable_segments = question.expandable_segments},
          .cublas_workspace_bytes = question.device.cublas_workspace_bytes};
}

std::int64_t room(const MemoryQuestion& question, const OutsideMemory& outside) {
  return std::max<std::int64_t>(question.device.capacity_bytes - outside.total(), 0);
}

/// Without a limit first: where all that is reserved fits, a limit changes nothing, and where what
/// is held does not, the peaks asked for are those. In between the limited allocator gives its
/// cache back.
StageNeed stage_memory(const Program& program, int role, const MemoryQuestion& question) {
  StageNeed stage;
  stage.stage = program.roles[static_cast<std::size_t>(role)].pipeline_rank;
  stage.outside = outside_memory(program, role, question.device, question.domain_ranks);
  const std::int64_t limit = room(question, stage.outside);
  stage.replay =
      replay_memory(program, role, settings_of(question, AllocatorSettings{}.capacity_bytes));
  const MemoryPeaks& peak = stage.replay.peak;
  if (peak.held <= limit && peak.reserved > limit) {
    ReplayResult limited = replay_memory(program, role, settings_of(question, limit));
    if (limited.oom) {
      stage.replay.oom = std::move(limited.oom);
    } else {
      stage.replay = std::move(limited);
    }
  }
  stage.peak_allocated = peak.allocated;
  stage.peak_reserved = peak.reserved;
  stage.peak_device = stage.peak_reserved + stage.outside.total();
  stage.by_category = stage.replay.by_category;
  stage.need = stage.outside.total() + peak.held;
  stage.oom_probability =
      oom_probability(stage.need, question.device.capacity_bytes, question.sigma);
  if (stage.replay.oom) {
    stage.oom_probability = std::max(stage.oom_probability, kOomProbability);
  }
  return stage;
}

/// What breaks a stage that needs more than there is: its limited replay ends there.
void name_failure(const Program& program, const MemoryQuestion& question, StageNeed& stage,
                  int role) {
  const std::int64_t limit = room(question, stage.outside);
  if (stage.replay.oom || stage.replay.peak.held <= limit) return;
  stage.replay.oom = replay_memory(program, role, settings_of(question, limit)).oom;
}

/// Every role's stage, in the order of roles; `question.threads` of them at a time.
std::vector<StageNeed> all_stages(const Program& program, const MemoryQuestion& question) {
  const int roles = static_cast<int>(program.roles.size());
  std::vector<StageNeed> stages(program.roles.size());
  std::vector<std::exception_ptr> failures(program.roles.size());
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int role = next++; role < roles; role = next++) {
      const auto r = static_cast<std::size_t>(role);
      try {
        stages[r] = stage_memory(program, role, question);
      } catch (...) {
        failures[r] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  for (int t = 1; t < std::min(question.threads, roles); ++t) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return stages;
}

}  // namespace

double oom_probability(std::int64_t need, std::int64_t capacity, double sigma) {
  CHECK(sigma > 0.0, "memory predictions have an error");
  if (need <= 0) return 0.0;
  const double missing = static_cast<double>(need - capacity);
  return 0.5 * std::erfc(-missing / (sigma * static_cast<double>(need)) / std::numbers::sqrt2);
}

MemoryVerdict verdict_of(double oom_probability) {
  if (oom_probability >= kOomProbability) return MemoryVerdict::oom;
  return oom_probability >= kTightProbability ? MemoryVerdict::tight : MemoryVerdict::fits;
}

MemoryReport assess_memory(const Program& program, const MemoryQuestion& question) {
  MemoryReport report{.capacity_bytes = question.device.capacity_bytes,
                      .stages = all_stages(program, question)};
  if (report.stages.empty()) return report;
  const auto emptier = [](const StageNeed& a, const StageNeed& b) {
    return std::pair(a.oom_probability, a.need) < std::pair(b.oom_probability, b.need);
  };
  const auto fullest = std::max_element(report.stages.begin(), report.stages.end(), emptier);
  report.fullest = static_cast<int>(fullest - report.stages.begin());
  report.oom_probability = fullest->oom_probability;
  report.verdict = verdict_of(report.oom_probability);
  report.margin_bytes = report.capacity_bytes - fullest->need;
  name_failure(program, question, *fullest, report.fullest);
  return report;
}

}  // namespace windtunnel
