#include <fmt/format.h>

#include <numeric>

#include "scenarios/rules/rules.h"
#include "scenarios/scenario_place.h"
#include "scenarios/words.h"

namespace windtunnel {

namespace {

/// Chunks of one device: given, or fixed by the schedule's shape (a V or two directions are 2).
std::int64_t virtual_stages(const SchedulePart& schedule) {
  if (schedule.virtual_stages) return *schedule.virtual_stages;
  const ScheduleKind kind = schedule.kind.value_or(ScheduleKind::one_f_one_b);
  const bool folded = kind == ScheduleKind::zb_v || kind == ScheduleKind::dualpipe_v;
  return folded ? 2 : 1;
}

/// Whether a schedule runs several chunks on a device.
bool interleaves(ScheduleKind kind) {
  return kind == ScheduleKind::interleaved_1f1b || kind == ScheduleKind::bfs ||
         kind == ScheduleKind::zb_h1 || kind == ScheduleKind::zb_v ||
         kind == ScheduleKind::dualpipe_v;
}

void check_virtual_stages(const Scenario& s, std::vector<Diagnostic>& problems) {
  const SchedulePart& schedule = s.plan.schedule;
  if (!schedule.kind) return;
  const std::string_view kind = word_of(kScheduleWords, *schedule.kind);
  const std::int64_t chunks = virtual_stages(schedule);
  if (*schedule.kind == ScheduleKind::interleaved_1f1b && chunks < 2) {
    problems.push_back(diagnostic_at(s, "plan.schedule.kind",
                                     fmt::format("{} needs virtual_stages of at least 2", kind),
                                     "{kind: interleaved_1f1b, virtual_stages: 2}, or kind: 1f1b"));
  } else if (!interleaves(*schedule.kind) && chunks > 1) {
    problems.push_back(
        diagnostic_at(s, "plan.schedule.virtual_stages",
                      fmt::format("{} runs one chunk per device, not {}", kind, chunks),
                      "virtual_stages: 1, or kind: interleaved_1f1b"));
  }
}

void check_layers(const Scenario& s, std::vector<Diagnostic>& problems) {
  const auto& given = s.plan.schedule.layers_per_stage;
  const std::int64_t chunks = s.plan.pp * virtual_stages(s.plan.schedule);
  const std::string product =
      fmt::format("pp {} * virtual_stages {}", s.plan.pp, virtual_stages(s.plan.schedule));
  if (!given) {
    // Embedding and head may count as one layer each.
    if (chunks <= s.model.layers + 2) return;
    problems.push_back(diagnostic_at(
        s, "plan.pp",
        fmt::format("{} = {} chunks, but the model has {} layers", product, chunks, s.model.layers),
        "fewer stages, or layers_per_stage with zeros"));
    return;
  }
  constexpr const char* kKey = "plan.schedule.layers_per_stage";
  const auto entries = static_cast<std::int64_t>(given->size());
  const std::int64_t sum = std::accumulate(given->begin(), given->end(), std::int64_t{0});
  if (entries != chunks) {
    problems.push_back(
        diagnostic_at(s, kKey,
                      fmt::format("layers_per_stage has {} entries, but {} = {} chunks", entries,
                                  product, chunks),
                      "one entry per chunk, in model order"));
  } else if (sum != s.model.layers) {
    problems.push_back(
        diagnostic_at(s, kKey,
                      fmt::format("layers_per_stage adds up to {}, but the model has {} layers",
                                  sum, s.model.layers),
                      "one entry per chunk, in model order; zeros are allowed"));
  }
}

}  // namespace

std::vector<Diagnostic> check_schedule(const Scenario& s) {
  std::vector<Diagnostic> problems;
  check_virtual_stages(s, problems);
  if (problems.empty()) check_layers(s, problems);
  return problems;
}

}  // namespace windtunnel
