#include "planning/validate_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/unit_text.h"
#include "report/text_layout.h"

namespace windtunnel {

namespace {

constexpr const char* kNothing = "-";

std::string percent(const std::optional<double>& fraction, const char* form) {
  if (!fraction) return kNothing;
  if (std::isinf(*fraction)) return "infinite";
  return fmt::format(fmt::runtime(form), 100.0 * *fraction);
}
std::string signed_percent(const std::optional<double>& fraction) {
  return percent(fraction, "{:+.1f} %");
}
std::string unsigned_percent(const std::optional<double>& fraction) {
  return percent(fraction, "{:.1f} %");
}

/// The interval's ends over the prediction.
std::string interval_text(const Prediction& p) {
  const auto [low, high] = p.step_time_interval_s;
  if (high <= low) return kNothing;
  return fmt::format("{:+.1f} {:+.1f} %", 100.0 * (low / p.step_time_s - 1.0),
                     100.0 * (high / p.step_time_s - 1.0));
}

/// An infinite mean, and the mean over the groups whose choice ran.
std::string regret_text(const RankingSummary& ranking) {
  std::string mean = unsigned_percent(ranking.regret);
  if (ranking.oom_choices == 0 || !ranking.finite_regret) return mean;
  return mean + ", else " + unsigned_percent(ranking.finite_regret);
}

std::string oom_text(const ValidationRow& row) {
  std::string predicted = row.predicted->oom ? "oom" : "fits";
  if (!row.measured) return predicted;
  const std::optional<bool> measured = measured_oom(*row.measured);
  if (!measured) return predicted;
  const std::string truth = *measured ? "oom" : "fits";
  return predicted == truth ? predicted : predicted + ", was " + truth;
}

std::vector<std::string> row_cells(const ValidationRow& row) {
  const std::optional<double> measured =
      row.measured ? measured_step_time(*row.measured) : std::nullopt;
  return {row.id,
          format_seconds({row.predicted->step_time_s}),
          measured ? format_seconds({*measured}) : kNothing,
          signed_percent(row.step_time_error),
          interval_text(*row.predicted),
          row.interval_holds ? (*row.interval_holds ? "yes" : "no") : kNothing,
          signed_percent(row.memory_error),
          oom_text(row)};
}

std::string source_text(const std::string& source, const Validation& validation) {
  ReportTable table{.columns = {{source, Align::left},
                                {"predicted"},
                                {"measured"},
                                {"error"},
                                {"interval"},
                                {"holds"},
                                {"memory"},
                                {"verdict", Align::left}},
                    .rows = {}};
  std::string refused;
  for (const ValidationRow& row : validation.rows) {
    if (row.source != source) continue;
    if (row.predicted) {
      table.rows.push_back(row_cells(row));
    } else {
      refused += wrap_text("refused: " + row.refused, "  " + row.id + "  ");
    }
  }
  return (table.rows.empty() ? source + "\n" : render_table(table, "")) + refused;
}

std::string step_summary(const std::vector<std::pair<std::string, ValidationSummary>>& all) {
  ReportTable table{.columns = {{"Step time", Align::left},
                                {"rows"},
                                {"refused"},
                                {"n"},
                                {"MAPE"},
                                {"median"},
                                {"bias"},
                                {"p90"},
                                {"max"}},
                    .rows = {}};
  for (const auto& [name, s] : all) {
    table.rows.push_back({name, std::to_string(s.rows), std::to_string(s.refused),
                          std::to_string(s.step_time.n), unsigned_percent(s.step_time.mape),
                          unsigned_percent(s.step_time.median_ape),
                          signed_percent(s.step_time.bias), unsigned_percent(s.step_time.p90_ape),
                          unsigned_percent(s.step_time.max_ape)});
  }
  return render_table(table, "");
}

std::string interval_and_ranking_summary(
    const std::vector<std::pair<std::string, ValidationSummary>>& all) {
  ReportTable table{.columns = {{"Interval, ranking", Align::left},
                                {"coverage"},
                                {"half-width"},
                                {"groups"},
                                {"tau"},
                                {"regret"},
                                {"oom choices"}},
                    .rows = {}};
  for (const auto& [name, s] : all) {
    const RankingSummary& r = s.ranking;
    table.rows.push_back({name, unsigned_percent(s.interval_coverage),
                          unsigned_percent(s.interval_half_width), std::to_string(r.groups),
                          r.kendall_tau ? fmt::format("{:.2f}", *r.kendall_tau) : kNothing,
                          regret_text(r), std::to_string(r.oom_choices)});
  }
  return render_table(table, "");
}

std::string memory_summary(const std::vector<std::pair<std::string, ValidationSummary>>& all) {
  ReportTable table{.columns = {{"Memory", Align::left},
                                {"n"},
                                {"MAPE"},
                                {"median"},
                                {"tp"},
                                {"fp"},
                                {"tn"},
                                {"fn"},
                                {"recall"},
                                {"specificity"}},
                    .rows = {}};
  for (const auto& [name, s] : all) {
    table.rows.push_back({name, std::to_string(s.memory.n), unsigned_percent(s.memory.mape),
                          unsigned_percent(s.memory.median_ape),
                          std::to_string(s.oom.true_positive), std::to_string(s.oom.false_positive),
                          std::to_string(s.oom.true_negative), std::to_string(s.oom.false_negative),
                          unsigned_percent(s.oom.recall()), unsigned_percent(s.oom.specificity())});
  }
  return render_table(table, "");
}

}  // namespace

std::string validation_text(const Validation& validation) {
  std::string text;
  for (const auto& [source, summary] : validation.summaries.sources) {
    text += source_text(source, validation) + "\n";
  }
  std::vector<std::pair<std::string, ValidationSummary>> all = validation.summaries.sources;
  all.emplace_back("overall", validation.summaries.overall);
  return text + step_summary(all) + "\n" + interval_and_ranking_summary(all) + "\n" +
         memory_summary(all);
}

}  // namespace windtunnel
