#include "report/compare_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/unit_text.h"
#include "report/compare_words.h"
#include "report/memory_text.h"
#include "report/stage_rows.h"
#include "report/table_scale.h"
#include "report/text_layout.h"

namespace windtunnel {

namespace {

bool reads_as_zero(const std::string& cell) {
  return cell.find_first_not_of("+-0.") == std::string::npos;
}

/// What A has of it reads as zero: a share of it would be a large number that says nothing.
std::string change_cell(const Both<double>& seconds, const TimeScale& scale) {
  if (!reads_as_zero(scale(seconds.a))) return change_text(seconds.relative());
  return reads_as_zero(scale.difference(seconds.difference())) ? "" : "new";
}

void add_row(ReportTable& table, const std::string& label, const Both<double>& seconds,
             const TimeScale& scale) {
  table.rows.push_back({label, scale(seconds.a), scale(seconds.b),
                        scale.difference(seconds.difference()), change_cell(seconds, scale)});
}

std::string time_table(const BreakdownDifference& difference, const TimeScale& scale) {
  ReportTable table = figures_table("B - A");
  for (const TermDifference& row : difference.terms) {
    if (reads_as_zero(scale(row.seconds.a)) && reads_as_zero(scale(row.seconds.b))) continue;
    add_row(table, (row.term->part ? "  " : "") + std::string(row.term->label), row.seconds, scale);
  }
  return render_table(table, "  ");
}

std::string module_table(const BreakdownDifference& difference, const TimeScale& scale) {
  ReportTable table = figures_table("B - A");
  for (const ModuleDifference& row : difference.modules) {
    if (reads_as_zero(scale.difference(row.seconds.difference()))) continue;
    add_row(table, row.module, row.seconds, scale);
  }
  if (table.rows.empty()) return "";
  return fmt::format("\nCompute by module, {} (rows that differ)\n", scale.name) +
         render_table(table, "  ");
}

/// Columns of the table by stage: terms, two where one column gathers them.
struct StageColumn {
  const char* head;
  double (*seconds)(const std::vector<TermDifference>& terms);
};

double change_of(const std::vector<TermDifference>& terms, double Breakdown::*field) {
  for (const TermDifference& row : terms) {
    if (row.term->field == field) return row.seconds.difference();
  }
  return 0.0;
}

double change_of(const std::vector<TermDifference>& terms, double ExposedComm::*axis) {
  for (const TermDifference& row : terms) {
    if (row.term->axis == axis) return row.seconds.difference();
  }
  return 0.0;
}

using Terms = std::vector<TermDifference>;
constexpr StageColumn kStageColumns[] = {
    {"compute", [](const Terms& t) { return change_of(t, &Breakdown::compute); }},
    {"recomp.", [](const Terms& t) { return change_of(t, &Breakdown::recompute); }},
    {"tp", [](const Terms& t) { return change_of(t, &ExposedComm::tp); }},
    {"pp", [](const Terms& t) { return change_of(t, &ExposedComm::pp); }},
    {"dp", [](const Terms& t) { return change_of(t, &ExposedComm::dp); }},
    {"cp+ep",
     [](const Terms& t) {
       return change_of(t, &ExposedComm::cp) + change_of(t, &ExposedComm::ep);
     }},
    {"bubble", [](const Terms& t) { return change_of(t, &Breakdown::bubble); }},
    {"straggler", [](const Terms& t) { return change_of(t, &Breakdown::straggler); }},
    {"host",
     [](const Terms& t) {
       return change_of(t, &Breakdown::host) + change_of(t, &Breakdown::input);
     }},
};

/// Columns without a difference in any stage are left out.
std::string stage_time_table(const Comparison& c, TimeScale scale) {
  if (c.stages.size() < 2) return "";
  scale.decimals = std::max(0, scale.decimals - 1);  // stages that hardly differ share a row
  ReportTable table{.columns = {{"stage"}}, .rows = {}};
  std::vector<StageRow> rows;
  for (std::size_t i = 0; i < c.stages.size(); ++i) {
    rows.push_back({.stage = static_cast<int>(i), .cells = {}});
  }
  for (const StageColumn& column : kStageColumns) {
    std::vector<std::string> cells;
    for (const BreakdownDifference& stage : c.stages) {
      cells.push_back(scale.difference(column.seconds(stage.terms)));
    }
    if (std::all_of(cells.begin(), cells.end(), reads_as_zero)) continue;
    table.columns.push_back({column.head});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].cells.push_back(reads_as_zero(cells[i]) ? "-" : cells[i]);
    }
  }
  if (table.columns.size() == 1) return "";
  table.rows = fold_stage_rows(rows);
  return fmt::format("\nB - A by stage, {} (tp to cp+ep: exposed_comm)\n", scale.name) +
         render_table(table, "  ");
}

constexpr const char* kBytes = "B - A, bytes";

bool is_equal(const MemoryDifference& m) {
  return m.allocated_bytes.difference() == 0 && m.reserved_bytes.difference() == 0 &&
         m.device_bytes.difference() == 0 &&
         std::all_of(m.by_category.begin(), m.by_category.end(),
                     [](const auto& row) { return row.second.difference() == 0; });
}

/// The stage to show category by category: the fullest, or when it is equal on both sides the one
/// that differs most.
const MemoryDifference& shown_stage(const Comparison& c) {
  if (!is_equal(*c.fullest) || c.memory.empty()) return *c.fullest;
  return *std::max_element(
      c.memory.begin(), c.memory.end(), [](const MemoryDifference& x, const MemoryDifference& y) {
        return std::abs(x.allocated_bytes.difference()) < std::abs(y.allocated_bytes.difference());
      });
}

std::string stage_table(const Comparison& c) {
  const MemoryDifference& shown = shown_stage(c);
  const SizeScale scale = size_scale(std::max(shown.device_bytes.a, shown.device_bytes.b));
  ReportTable table = figures_table(kBytes);
  const auto add = [&](const std::string& label, const Both<std::int64_t>& bytes) {
    if (bytes.difference() == 0 && reads_as_zero(scale(bytes.a))) return;
    table.rows.push_back({label, scale(bytes.a), scale(bytes.b), signed_count(bytes.difference()),
                          change_text(bytes.relative())});
  };
  const auto add_categories = [&](bool outside) {
    for (const auto& [name, bytes] : shown.by_category) {
      if (is_outside_allocator(name) == outside) add("  " + name, bytes);
    }
  };
  add("allocated", shown.allocated_bytes);
  add_categories(false);
  add("reserved", shown.reserved_bytes);
  add("device", shown.device_bytes);
  add_categories(true);
  const std::string which =
      shown.stage.a == shown.stage.b
          ? fmt::format("stage {}", shown.stage.a)
          : fmt::format("A's stage {} and B's stage {}", shown.stage.a, shown.stage.b);
  const char* why = &shown == &*c.fullest ? "the fullest" : "differs most";
  return fmt::format("Memory at the peak of {} ({}), {}\n", which, why, scale.name) +
         render_table(table, "  ");
}

std::string stage_memory_table(const Comparison& c) {
  if (c.memory.size() < 2) return "";
  ReportTable table{.columns = {{"stage"}, {"allocated"}, {"reserved"}, {"device"}}, .rows = {}};
  std::vector<StageRow> rows;
  for (const MemoryDifference& m : c.memory) {
    rows.push_back({.stage = m.stage.a,
                    .cells = {signed_count(m.allocated_bytes.difference()),
                              signed_count(m.reserved_bytes.difference()),
                              signed_count(m.device_bytes.difference())}});
  }
  table.rows = fold_stage_rows(rows);
  return "\nMemory by stage, B - A in bytes\n" + render_table(table, "  ");
}

bool is_equal(const TrafficDifference& row) {
  return row.count.difference() == 0 && row.elements.difference() == 0 &&
         row.bytes.difference() == 0;
}

std::vector<std::string> traffic_cells(const TrafficDifference& row, const SizeScale& scale) {
  return {format_count(row.count.a), format_count(row.count.b), scale(row.bytes.a),
          scale(row.bytes.b), signed_count(row.bytes.difference())};
}

/// Rows of one communicator and kind, by stage.
using TrafficGroups = std::map<std::string, std::vector<const TrafficDifference*>>;

std::string traffic_table(const TrafficGroups& groups, const SizeScale& scale, bool by_stage) {
  const std::string unit = scale.name;
  ReportTable table{
      .columns = {{"", Align::left}, {"stage"}, {"calls A"}, {"B"}, {unit + " A"}, {"B"}, {kBytes}},
      .rows = {}};
  if (!by_stage) table.columns.erase(table.columns.begin() + 1);
  for (const auto& [name, rows] : groups) {
    std::vector<StageRow> stages;
    for (const TrafficDifference* row : rows) {
      stages.push_back({.stage = row->stage, .cells = traffic_cells(*row, scale)});
    }
    for (std::vector<std::string>& cells : fold_stage_rows(stages)) {
      if (!by_stage) cells.erase(cells.begin());
      cells.insert(cells.begin(), name);
      table.rows.push_back(std::move(cells));
    }
  }
  return render_table(table, "  ");
}

}  // namespace

ReportTable figures_table(const std::string& difference) {
  return {.columns = {{"", Align::left}, {"A"}, {"B"}, {difference}, {"change"}}, .rows = {}};
}

std::string compare_time_text(const Comparison& c) {
  const TimeScale scale = time_scale(std::max(c.step_time_s.a, c.step_time_s.b));
  const bool one = c.a.stages <= 1 && c.b.stages <= 1;
  return fmt::format("Where the time goes{}, {}\n", one ? "" : ", mean over stages", scale.name) +
         time_table(c.breakdown, scale) + module_table(c.breakdown, scale) +
         stage_time_table(c, scale);
}

std::string compare_memory_text(const Comparison& c) {
  if (!c.fullest) return "";
  const bool all = static_cast<int>(c.memory.size()) == c.a.memory_stages &&
                   c.a.memory_stages == c.b.memory_stages;
  const bool equal = all && std::all_of(c.memory.begin(), c.memory.end(),
                                        [](const MemoryDifference& m) { return is_equal(m); });
  if (equal) return "Memory: equal in every stage and category, to the byte\n";
  return stage_table(c) + stage_memory_table(c);
}

std::string compare_traffic_text(const Comparison& c) {
  const std::vector<TrafficDifference>& all = c.same_stages() ? c.traffic : c.traffic_sums;
  if (all.empty()) return "";
  std::int64_t largest = 0;
  TrafficGroups groups;
  for (const TrafficDifference& row : all) {
    if (is_equal(row)) continue;
    largest = std::max({largest, row.bytes.a, row.bytes.b});
    groups[row.communicator + " " + row.kind].push_back(&row);
  }
  if (groups.empty()) return "Traffic: equal in every stage, kind and communicator\n";
  return std::string("Traffic of one rank in a step") +
         (c.same_stages() ? "" : ", summed over stages") + " (rows that differ)\n" +
         traffic_table(groups, size_scale(largest), c.same_stages() && c.a.stages > 1);
}

}  // namespace windtunnel
