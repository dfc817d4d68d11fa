#include "report/compare_words.h"

#include <fmt/format.h>

#include <cmath>

#include "core/unit_text.h"

namespace windtunnel {

namespace {

/// Changes that print as 0.0 %.
constexpr double kReadsAsZero = 0.0005;

std::string amount(double seconds) {
  return format_seconds({std::abs(seconds)});
}

/// The part of `compute` that makes up at least half of its change; recomputation says more than
/// the kind of kernel that was recomputed.
std::string mostly(const Comparison& c, const TermDifference& row) {
  if (row.term->field != &Breakdown::compute) return "";
  const TermDifference* largest = nullptr;
  for (const TermDifference& part : c.breakdown.terms) {
    if (!part.term->part || part.seconds.difference() / row.seconds.difference() < 0.5) continue;
    const bool is_recompute = part.term->field == &Breakdown::recompute;
    if (!largest || is_recompute ||
        std::abs(part.seconds.difference()) > std::abs(largest->seconds.difference())) {
      largest = &part;
    }
  }
  return largest ? fmt::format(", mostly {},", largest->term->in_words) : "";
}

std::string moved(const Comparison& c, const TermDifference& row) {
  return fmt::format("{}{} {} by {}", row.term->in_words, mostly(c, row),
                     row.seconds.difference() < 0 ? "shrank" : "grew",
                     amount(row.seconds.difference()));
}

}  // namespace

std::string change_text(std::optional<double> relative) {
  if (!relative) return "new";
  if (std::abs(*relative) < kReadsAsZero) return "0.0 %";
  constexpr double kManyTimes = 9.0;  // from ten times on a ratio reads better
  if (*relative >= kManyTimes) return fmt::format("x {:.3g}", 1.0 + *relative);
  return fmt::format("{:+.1f} %", 100.0 * *relative);
}

std::string signed_seconds(double seconds) {
  return (seconds < 0 ? "-" : "+") + amount(seconds);
}

std::string signed_count(std::int64_t count) {
  return (count > 0 ? "+" : "") + format_count(count);
}

std::string limit_percent(double share) {
  return fmt::format("{:.6g}%", 100.0 * share);
}

std::string stages_text(int stages) {
  return fmt::format("{} pipeline stage{}", stages, stages == 1 ? "" : "s");
}

std::string cause_sentence(const Comparison& c) {
  const double difference = c.step_time_s.difference();
  const double shown = kReadsAsZero * c.step_time_s.a;  // what moves less is not named
  const Cause cause = cause_of(c);
  const auto counts = [shown](const TermDifference* row) {
    return row && std::abs(row->seconds.difference()) >= shown && row->seconds.difference() != 0.0;
  };
  if (std::abs(difference) < shown || difference == 0.0) {
    const std::string same = difference == 0.0 ? "B's step takes as long as A's"
                                               : "B's step takes as long as A's, to 0.05 %";
    if (!counts(cause.with) || !counts(cause.against)) return same + ".";
    return same + ": " + moved(c, *cause.with) + ", " + moved(c, *cause.against) + ".";
  }
  const std::optional<double> relative = c.step_time_s.relative();
  const std::string by =
      relative ? fmt::format("{:.1f} %", 100.0 * std::abs(*relative)) : amount(difference);
  const std::string head =
      fmt::format("B's step takes {} {}", by, difference < 0 ? "less time" : "longer");
  if (!counts(cause.with)) return head + ".";
  const TermDifference& with = *cause.with;
  std::string text = head + ": " + moved(c, with);
  if (std::abs(with.seconds.difference()) >= std::abs(difference)) {
    if (!counts(cause.against)) return text + ".";
    return fmt::format("{}, while {}: {} in all.", text, moved(c, *cause.against),
                       signed_seconds(difference));
  }
  if (amount(with.seconds.difference()) == amount(difference)) return text + ".";
  return fmt::format("{} of the {}.", text, amount(difference));
}

std::string interval_sentence(const Comparison& c) {
  if (c.a.kind == c.b.kind) return "";
  const bool a_is_run = c.a.kind == StepKind::run;
  const double run = a_is_run ? c.step_time_s.a : c.step_time_s.b;
  const auto& [low, high] = a_is_run ? c.b.interval_s : c.a.interval_s;
  if (low >= high) return "";
  return fmt::format("The run lies {} the simulation's 90 % interval.", run < low    ? "below"
                                                                        : run > high ? "above"
                                                                                     : "inside");
}

}  // namespace windtunnel
