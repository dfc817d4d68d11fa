#include "report/compare_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/unit_text.h"
#include "report/compare_words.h"
#include "report/memory_text.h"
#include "report/text_layout.h"

namespace windtunnel {

namespace {

/// A difference at the limit is within it, whatever the last bits of two doubles and their product.
constexpr double kRounding = 1e-12;

bool is_over(double difference, double limit) {
  return std::abs(difference) > limit * (1.0 + kRounding);
}

std::string step_limit(const CompareLimits& limits) {
  return "--max-step-error " + limit_percent(*limits.step_error);
}

std::string term_limit(const CompareLimits& limits) {
  return fmt::format("--max-term-error {} (--term-floor {})", limit_percent(*limits.term_error),
                     limit_percent(limits.term_floor));
}

constexpr const char* kExactMemory = "--exact-memory";
constexpr const char* kExactTraffic = "--exact-traffic";

/// "first (and 3 more)"; empty without any.
std::string first_of(const std::vector<std::string>& all) {
  if (all.size() < 2) return all.empty() ? "" : all.front();
  return fmt::format("{} (and {} more)", all.front(), all.size() - 1);
}

std::string step_detail(const Comparison& c, double limit) {
  const Both<double>& step = c.step_time_s;
  if (!is_over(step.difference(), limit * step.a)) return "";
  return fmt::format("step_time {} against {}, {}", format_seconds({step.b}),
                     format_seconds({step.a}), change_text(step.relative()));
}

std::string term_detail(const Comparison& c, const CompareLimits& limits) {
  std::string detail;
  for (const TermDifference& row : c.breakdown.terms) {
    const double own = *limits.term_error * std::abs(row.seconds.a);
    const double allowed = std::max(own, limits.term_floor * c.step_time_s.a);
    if (!is_over(row.seconds.difference(), allowed)) continue;
    detail +=
        fmt::format("{}{} {} ({})", detail.empty() ? "" : ", ", row.term->label,
                    signed_seconds(row.seconds.difference()), change_text(row.seconds.relative()));
  }
  return detail;
}

std::string stages_differ(const Comparison& c) {
  return fmt::format("A has {}, B {}: not comparable stage by stage", stages_text(c.a.stages),
                     c.b.stages);
}

std::string memory_detail(const Comparison& c) {
  const bool a_states = c.a.memory_stages > 0, b_states = c.b.memory_stages > 0;
  if (!a_states && !b_states) return "neither side states memory";
  if (!a_states || !b_states) return fmt::format("{} states no memory", a_states ? "B" : "A");
  if (!c.same_stages()) return stages_differ(c);
  const auto compared = static_cast<int>(c.memory.size());
  if (compared != c.a.memory_stages || compared != c.b.memory_stages) {
    return "only one side states the memory of some stages";
  }
  std::vector<std::string> found;
  const auto check = [&](int stage, const std::string& what, const Both<std::int64_t>& bytes) {
    if (bytes.difference() == 0) return;
    found.push_back(
        fmt::format("stage {}: {} {} bytes", stage, what, signed_count(bytes.difference())));
  };
  for (const MemoryDifference& stage : c.memory) {
    check(stage.stage.a, "peak allocated", stage.allocated_bytes);
    for (const auto& [name, bytes] : stage.by_category) {
      if (!is_outside_allocator(name)) check(stage.stage.a, name, bytes);
    }
  }
  return first_of(found);
}

std::string traffic_detail(const Comparison& c) {
  if (!c.same_stages()) return stages_differ(c);
  std::vector<std::string> found;
  for (const TrafficDifference& row : c.traffic) {
    if (row.count.difference() == 0 && row.elements.difference() == 0 &&
        row.bytes.difference() == 0) {
      continue;
    }
    found.push_back(fmt::format("stage {}: {} on {} {} calls, {} elements, {} bytes", row.stage,
                                row.kind, row.communicator, signed_count(row.count.difference()),
                                signed_count(row.elements.difference()),
                                signed_count(row.bytes.difference())));
  }
  return first_of(found);
}

}  // namespace

std::vector<Violation> violations_of(const Comparison& c, const CompareLimits& limits) {
  std::vector<Violation> violations;
  const auto add = [&](const std::string& limit, const std::string& detail) {
    if (!detail.empty()) violations.push_back({.limit = limit, .detail = detail});
  };
  if (limits.step_error) add(step_limit(limits), step_detail(c, *limits.step_error));
  if (limits.term_error) add(term_limit(limits), term_detail(c, limits));
  if (limits.exact_memory) add(kExactMemory, memory_detail(c));
  if (limits.exact_traffic) add(kExactTraffic, traffic_detail(c));
  return violations;
}

std::string limits_text(const CompareLimits& limits) {
  std::string text;
  const auto add = [&](const std::string& limit) {
    if (!text.empty()) text += ", ";
    text += limit;
  };
  if (limits.step_error) add(step_limit(limits));
  if (limits.term_error) add(term_limit(limits));
  if (limits.exact_memory) add(kExactMemory);
  if (limits.exact_traffic) add(kExactTraffic);
  return text;
}

std::string limits_lines(const std::vector<Violation>& violations, const CompareLimits& limits) {
  if (!limits.any()) return "";
  if (violations.empty()) return "\n" + wrap_text(limits_text(limits), "within     ");
  std::string text = "\n";
  for (const Violation& violation : violations) {
    text += wrap_text(violation.limit + ": " + violation.detail, "over       ");
  }
  return text;
}

}  // namespace windtunnel
