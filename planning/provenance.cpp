#include "planning/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "program/op_names.h"
#include "program/op_runs.h"

namespace windtunnel {

namespace {

/// Seconds each priced item is busy in one step, over all roles.
std::vector<double> busy_seconds(const Program& program, const PricedProgram& priced) {
  std::vector<std::int64_t> counts(program.ops.size(), 0);
  for (const Role& role : program.roles) count_runs(program, role, counts);
  std::vector<double> busy(priced.items.size(), 0.0);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::uint32_t item = priced.item_of_op[i];
    if (item != kNone)
      busy[item] += static_cast<double>(counts[i]) * priced.items[item].cost.time.value;
  }
  return busy;
}

std::string item_text(const Program& program, const PricedItem& item) {
  if (item.shape != kNone) return text_of(program.shapes[item.shape]);
  const Op& op = program.ops[item.op];
  const std::string kind = op.kind == OpKind::send ? "send" : name_of(comm_kind(op.collective));
  return fmt::format("{} over {} of {:.1f} MB", kind, program.comms[op.comm].name,
                     static_cast<double>(bytes_of(op.dtype, op.elements)) / 1e6);
}

}  // namespace

void fill_provenance(StepReport& report, const Program& program, const PricedProgram& priced,
                     const CostModel& model) {
  const std::vector<double> busy = busy_seconds(program, priced);
  double total = 0;
  std::map<CostClass, std::map<std::pair<Basis, std::uint16_t>, double>> by_class;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    const OpCost& c = priced.items[i].cost;
    by_class[c.cls][{c.origin.basis, c.origin.source}] += busy[i];
    total += busy[i];
  }
  if (total <= 0) return;
  for (const auto& [cls, parts] : by_class) {
    double sum = 0;
    for (const auto& [origin, seconds] : parts) sum += seconds;
    if (sum <= 0) continue;
    std::vector<std::pair<double, std::pair<Basis, std::uint16_t>>> order;
    for (const auto& [origin, seconds] : parts) order.push_back({seconds, origin});
    std::sort(order.rbegin(), order.rend());
    std::string text = fmt::format("{} ({:.0f} % of busy time):", name_of(cls), 100 * sum / total);
    for (const auto& [seconds, origin] : order) {
      if (seconds < 0.005 * sum) continue;
      text += fmt::format(" {:.0f} % {} ({});", 100 * seconds / sum, name_of(origin.first),
                          model.source_text(origin.second));
    }
    text.pop_back();
    report.origins.push_back(text);
  }
  std::vector<std::pair<double, std::size_t>> variance;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    const OpCost& c = priced.items[i].cost;
    const double sigma = std::hypot(c.sigma, model.class_sigma(c.cls));
    if (c.origin.basis != Basis::measured) variance.push_back({busy[i] * sigma, i});
  }
  std::sort(variance.rbegin(), variance.rend());
  for (std::size_t k = 0; k < variance.size() && k < 3; ++k) {
    const auto& [spread, i] = variance[k];
    if (spread < 0.002 * total) break;
    report.calibrate_next.push_back(fmt::format(
        "{}: {:.0f} % of busy time, {}, sigma {:.0f} %", item_text(program, priced.items[i]),
        100 * busy[i] / total, name_of(priced.items[i].cost.origin.basis),
        100 * std::hypot(priced.items[i].cost.sigma, model.class_sigma(priced.items[i].cost.cls))));
  }
}

}  // namespace windtunnel
