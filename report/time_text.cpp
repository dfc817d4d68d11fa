#include "report/time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/unit_text.h"
#include "report/bottleneck.h"
#include "report/breakdown_terms.h"
#include "report/stage_rows.h"
#include "report/table_scale.h"
#include "report/text_layout.h"

namespace windtunnel {

namespace {

constexpr double kBarColumns = 32.0;  // of a whole step: fits 80 columns with label and figures

double sum_of(const Breakdown& b) {
  double sum = 0.0;
  for (const BreakdownTerm& term : breakdown_terms()) sum += term.part ? 0.0 : value_of(term, b);
  return sum;
}

std::string rate_text(double rate) {
  constexpr double kWhole = 1000.0;  // from here four digits are whole numbers
  return rate >= kWhole ? format_count(std::llround(rate)) : fmt::format("{:.4g}", rate);
}

}  // namespace

std::string step_time_text(const StepReport& r) {
  const auto [low, high] = r.step_time_interval_s;
  std::string text = "step_time  " + format_seconds({r.step_time_s});
  if (high > low) {
    const TimeScale scale = time_scale(high);
    text += fmt::format("   90 % interval {} to {} {}", scale(low), scale(high), scale.name);
  }
  if (r.step_time_spread_s) {
    const auto [shortest, longest] = *r.step_time_spread_s;
    const TimeScale scale = time_scale(longest);
    text += fmt::format("   median of {} steps, {} to {} {}", r.step_times_s.size(),
                        scale(shortest), scale(longest), scale.name);
  }
  if (const auto& p = r.step_time_percentiles_s) {
    const TimeScale scale = time_scale(p->p99);
    text += fmt::format("\n           noise: p50 {}, p90 {}, p99 {} {} of {} steps", scale(p->p50),
                        scale(p->p90), scale(p->p99), scale.name, p->steps);
  }
  text += fmt::format("\n           {} tokens/s, {} per device\n", rate_text(r.tokens_per_s),
                      rate_text(r.tokens_per_s_per_device));
  if (r.mfu > 0.0) {
    text += wrap_text(fmt::format("MFU {}, HFU {}; FLOP convention: {}", format_percent(r.mfu),
                                  format_percent(r.hfu), r.flop_convention),
                      "           ");
  }
  return text;
}

std::string breakdown_text(const StepReport& report) {
  const double total = sum_of(report.breakdown);
  if (total <= 0.0) return "";
  const TimeScale scale = time_scale(total);
  ReportTable table{.columns = {{"", Align::left}, {""}, {""}, {"", Align::left}}, .rows = {}};
  for (const BreakdownTerm& term : breakdown_terms()) {
    const double seconds = value_of(term, report.breakdown);
    if (seconds <= 0.0) continue;
    const double share = seconds / total;
    // A part that takes time shows: at least one column. It has no bar of its own.
    const auto columns = static_cast<std::size_t>(std::max(1.0, std::round(share * kBarColumns)));
    table.rows.push_back({(term.part ? "  " : "") + std::string(term.label),
                          scale(seconds) + " " + scale.name, format_percent(share),
                          std::string(columns, term.part ? '-' : '#')});
  }
  const std::size_t stages = report.stages.size();
  const std::string over = stages > 1 ? fmt::format(", mean over {} stages", stages) : "";
  return "Where the time goes" + over + "\n" + render_table(table, "  ");
}

std::string bottleneck_text(const StepReport& report) {
  if (sum_of(report.breakdown) <= 0.0) return "";
  const Bottleneck found = find_bottleneck(report.breakdown);
  std::string line = fmt::format("{} ({}, mostly {})", name_of(found.label),
                                 format_percent(found.label_share), found.cause);
  if (found.runner_up_share > 0.0) {
    line += fmt::format(", then {} ({})", name_of(found.runner_up),
                        format_percent(found.runner_up_share));
  }
  return wrap_text(line, "bottleneck ") + wrap_text(found.lever, "lever      ");
}

std::string stage_times_text(const StepReport& report) {
  if (report.stages.size() < 2) return "";
  const auto busiest = [](const Breakdown& a, const Breakdown& b) { return a.compute < b.compute; };
  const auto slowest = std::max_element(report.stages.begin(), report.stages.end(), busiest);
  TimeScale scale = time_scale(sum_of(report.breakdown));
  scale.decimals = std::max(0, scale.decimals - 1);  // stages that hardly differ share a row
  const auto cell = [&](double seconds) {
    const std::string text = scale(seconds);
    return text.find_first_not_of("0.") == std::string::npos ? "-" : text;
  };
  std::vector<StageRow> rows;
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    const Breakdown& b = report.stages[i];
    const ExposedComm& comm = b.exposed_comm;
    rows.push_back({.stage = static_cast<int>(i),
                    .cells = {cell(b.compute), cell(b.recompute), cell(comm.tp), cell(comm.pp),
                              cell(comm.dp), cell(comm.cp + comm.ep), cell(b.bubble),
                              cell(b.straggler), cell(b.host + b.input)},
                    .marked = b.compute > report.stages.front().compute * (1.0 + 1e-9) &&
                              static_cast<std::size_t>(slowest - report.stages.begin()) == i});
  }
  ReportTable table{.columns = {{"stage"},
                                {"compute"},
                                {"recomp."},
                                {"tp"},
                                {"pp"},
                                {"dp"},
                                {"cp+ep"},
                                {"bubble"},
                                {"straggler"},
                                {"host"}},
                    .rows = fold_stage_rows(rows)};
  return fmt::format("Time by stage, {} (tp to cp+ep: exposed_comm; * computes longest)\n",
                     scale.name) +
         render_table(table, "  ");
}

}  // namespace windtunnel
