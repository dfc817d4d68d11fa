#include "report/compare_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/unit_text.h"
#include "report/compare_tables.h"
#include "report/compare_words.h"
#include "report/memory_text.h"
#include "report/step_json.h"
#include "report/table_scale.h"
#include "report/text_layout.h"

namespace windtunnel {

namespace {

std::string side_text(const char* side, const ComparedStep& step) {
  std::string line = fmt::format("{} ({})", step.id, name_of(step.kind));
  if (!step.name.empty() && step.name != step.id) line += ": " + step.name;
  return wrap_text(line, side);
}

/// One line where the sides agree, two where they do not.
std::string shared_text(const std::string& label, const std::string& a, const std::string& b) {
  const auto line = [&label](const char* side, const std::string& text) {
    if (text.empty()) return std::string();
    return wrap_text(text, fmt::format("{:<11}", label + side));
  };
  return a == b ? line("", a) : line(" A", a) + line(" B", b);
}

std::string head_text(const Comparison& c) {
  std::string text = side_text("A  ", c.a) + side_text("B  ", c.b);
  text += shared_text("model", c.a.model, c.b.model);
  text += shared_text("cluster", c.a.cluster, c.b.cluster);
  text += shared_text("plan", c.a.plan, c.b.plan);
  text += shared_text("stack", c.a.stack, c.b.stack);
  if (!c.same_stages()) {
    text += wrap_text(
        fmt::format("A has {}, B {}: means and fullest stages are compared, no stage by stage",
                    stages_text(c.a.stages), c.b.stages),
        "stages     ");
  }
  return text;
}

/// A difference of two shares is in points.
std::string points(double difference) {
  const std::string text = fmt::format("{:+.1f}", 100.0 * difference);
  return (text == "+0.0" || text == "-0.0" ? "0.0" : text) + " pt";
}

std::string rate_text(double rate) {
  constexpr double kWhole = 1000.0;  // from here four digits are whole numbers
  return rate >= kWhole ? format_count(std::llround(rate)) : fmt::format("{:.4g}", rate);
}

void add_interval(ReportTable& table, const Comparison& c, const TimeScale& scale) {
  const auto cell = [&scale](const std::array<double, 2>& ends) {
    return ends[1] > ends[0] ? fmt::format("{} to {}", scale(ends[0]), scale(ends[1])) : "";
  };
  const std::string a = cell(c.a.interval_s), b = cell(c.b.interval_s);
  if (!a.empty() || !b.empty()) table.rows.push_back({"  90 % interval", a, b});
  if (!c.a.spread_s && !c.b.spread_s) return;
  const auto spread = [](const ComparedStep& s) {
    return s.spread_s.value_or(std::array<double, 2>{});
  };
  table.rows.push_back({"  shortest to longest", cell(spread(c.a)), cell(spread(c.b))});
}

std::string step_figures_text(const Comparison& c) {
  ReportTable table = figures_table("B - A");
  const TimeScale scale = time_scale(std::max(c.step_time_s.a, c.step_time_s.b));
  const Both<double>& step = c.step_time_s;
  table.rows.push_back({std::string("step_time, ") + scale.name, scale(step.a), scale(step.b),
                        scale.difference(step.difference()), change_text(step.relative())});
  add_interval(table, c, scale);
  const auto add_rate = [&table](const char* label, const Both<double>& rate) {
    if (rate.a <= 0.0 && rate.b <= 0.0) return;
    const std::string sign = rate.difference() < 0 ? "-" : rate.difference() > 0 ? "+" : "";
    table.rows.push_back({label, rate_text(rate.a), rate_text(rate.b),
                          sign + rate_text(std::abs(rate.difference())),
                          change_text(rate.relative())});
  };
  add_rate("tokens/s", c.tokens_per_s);
  add_rate("tokens/s per device", c.tokens_per_s_per_device);
  const auto add_share = [&table](const char* label, const Both<double>& share) {
    if (share.a <= 0.0 || share.b <= 0.0) return;  // a run knows no peak rate
    table.rows.push_back({label, format_percent(share.a), format_percent(share.b),
                          points(share.difference()), change_text(share.relative())});
  };
  add_share("MFU", c.mfu);
  add_share("HFU", c.hfu);
  return render_table(table, "  ");
}

std::string verdicts_text(const Comparison& c) {
  if (c.a.memory_stages == 0 || c.b.memory_stages == 0 || c.a.verdict == c.b.verdict) return "";
  const auto words = [](Verdict verdict) {
    return verdict == Verdict::oom     ? "does not fit into memory"
           : verdict == Verdict::tight ? "is tight in memory"
                                       : "fits into memory";
  };
  return fmt::format("A {}, B {}.", words(c.a.verdict), words(c.b.verdict));
}

}  // namespace

std::string compare_text(const Comparison& c) {
  std::string text = head_text(c);
  text +=
      "\n" + wrap_text(cause_sentence(c) + " " + interval_sentence(c) + " " + verdicts_text(c), "");
  text += "\n" + step_figures_text(c);
  for (const std::string& section :
       {compare_time_text(c), compare_memory_text(c), compare_traffic_text(c)}) {
    if (!section.empty()) text += "\n" + section;
  }
  return text;
}

}  // namespace windtunnel
