#include "report/time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/unit_text.h"
#include "report/bottleneck.h"
#include "report/stage_rows.h"
#include "report/text_layout.h"

namespace windtunnel {

namespace {

constexpr double kBarColumns = 32.0;  // of a whole step: fits 80 columns with label and figures

/// One unit for a whole table, with four significant digits for `largest`.
struct TimeScale {
  double unit = 1.0;
  const char* name = "s";
  int decimals = 3;

  std::string operator()(double seconds) const {
    return fmt::format("{:.{}f}", seconds / unit, decimals);
  }
};

TimeScale scale_for(double largest) {
  TimeScale scale{.unit = 1e-6, .name = "us"};
  if (largest >= 1.0) {
    scale = {.unit = 1.0, .name = "s"};
  } else if (largest >= 1e-3) {
    scale = {.unit = 1e-3, .name = "ms"};
  }
  const double digits_before = largest > 0.0 ? std::floor(std::log10(largest / scale.unit)) : 0.0;
  scale.decimals = std::clamp(3 - static_cast<int>(digits_before), 0, 3);
  return scale;
}

double sum_of(const Breakdown& b) {
  return b.compute + b.exposed_comm.total() + b.bubble + b.straggler + b.host + b.input;
}

struct Part {
  const char* label;
  double seconds;
  bool inside;  // a part of the line above: no bar of its own
};

std::vector<Part> parts_of(const Breakdown& b) {
  return {
      {"compute", b.compute, false},
      {"  matrix products", b.gemm, true},
      {"  attention", b.attention, true},
      {"  memory-bound", b.memory_bound, true},
      {"  (recomputation)", b.recompute, true},
      {"exposed_comm tp", b.exposed_comm.tp, false},
      {"exposed_comm pp", b.exposed_comm.pp, false},
      {"exposed_comm dp", b.exposed_comm.dp, false},
      {"exposed_comm cp", b.exposed_comm.cp, false},
      {"exposed_comm ep", b.exposed_comm.ep, false},
      {"bubble", b.bubble, false},
      {"straggler", b.straggler, false},
      {"host", b.host, false},
      {"input", b.input, false},
  };
}

std::string percent(double fraction) {
  return fmt::format("{:.1f} %", 100.0 * fraction);
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
    const TimeScale scale = scale_for(high);
    text += fmt::format("   90 % interval {} to {} {}", scale(low), scale(high), scale.name);
  }
  text += fmt::format("\n           {} tokens/s, {} per device\n", rate_text(r.tokens_per_s),
                      rate_text(r.tokens_per_s_per_device));
  if (r.mfu > 0.0) {
    text += wrap_text(fmt::format("MFU {}, HFU {}; FLOP convention: {}", percent(r.mfu),
                                  percent(r.hfu), r.flop_convention),
                      "           ");
  }
  return text;
}

std::string breakdown_text(const StepReport& report) {
  const double total = sum_of(report.breakdown);
  if (total <= 0.0) return "";
  const TimeScale scale = scale_for(total);
  ReportTable table{.columns = {{"", Align::left}, {""}, {""}, {"", Align::left}}, .rows = {}};
  for (const Part& part : parts_of(report.breakdown)) {
    if (part.seconds <= 0.0) continue;
    const double share = part.seconds / total;
    // A part that takes time shows: at least one column.
    const auto columns = static_cast<std::size_t>(std::max(1.0, std::round(share * kBarColumns)));
    table.rows.push_back({part.label, scale(part.seconds) + " " + scale.name, percent(share),
                          std::string(columns, part.inside ? '-' : '#')});
  }
  const std::size_t stages = report.stages.size();
  const std::string over = stages > 1 ? fmt::format(", mean over {} stages", stages) : "";
  return "Where the time goes" + over + "\n" + render_table(table, "  ");
}

std::string bottleneck_text(const StepReport& report) {
  if (sum_of(report.breakdown) <= 0.0) return "";
  const Bottleneck found = find_bottleneck(report.breakdown);
  std::string line = fmt::format("{} ({}, mostly {})", name_of(found.label),
                                 percent(found.label_share), found.cause);
  if (found.runner_up_share > 0.0) {
    line += fmt::format(", then {} ({})", name_of(found.runner_up), percent(found.runner_up_share));
  }
  return wrap_text(line, "bottleneck ") + wrap_text(found.lever, "lever      ");
}

std::string stage_times_text(const StepReport& report) {
  if (report.stages.size() < 2) return "";
  const auto busiest = [](const Breakdown& a, const Breakdown& b) { return a.compute < b.compute; };
  const auto slowest = std::max_element(report.stages.begin(), report.stages.end(), busiest);
  TimeScale scale = scale_for(sum_of(report.breakdown));
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
