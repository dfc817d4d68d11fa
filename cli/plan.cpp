#include <fmt/format.h>

#include <limits>

#include "cli/plan_json.h"
#include "cli/scenario_answers.h"
#include "cli/verb.h"
#include "core/diagnostics.h"
#include "plan/resolve.h"
#include "planning/simulate.h"
#include "program/print.h"
#include "program/schedule_grid.h"
#include "report/text_layout.h"

namespace windtunnel {

namespace {

constexpr int kAllColumns = std::numeric_limits<int>::max();

std::string resolved_text(const ResolvedScenario& resolved) {
  ReportTable table{
      .columns = {{"key", Align::left}, {"value", Align::left}, {"origin", Align::left}},
      .rows = {}};
  for (const ResolvedKey& key : resolved.keys) {
    table.rows.push_back({key.key, key.value, key.origin});
  }
  std::string text = resolved.scenario.id + "\n" + render_table(table, "  ");
  for (const std::string& line : resolved.assumptions) text += wrap_text(line, "  assumed: ");
  return text;
}

void check_rank(const Program& program, int rank) {
  if (rank < program.mesh.ranks()) return;
  throw InputError(
      {{.position = {},
        .message = fmt::format("--rank {}: the plan has {} ranks", rank, program.mesh.ranks()),
        .hint = fmt::format("0 to {}", program.mesh.ranks() - 1),
        .source_line = ""}});
}

Answer answer_plan(const Scenario& scenario, const Options& options) {
  if (options.view == PlanView::resolved) return {.text = resolved_text(resolve(scenario))};
  const Lowered lowered = lower_scenario(scenario);
  if (options.json) return {.text = plan_json(lowered)};
  const std::string head = scenario.id + "\n";
  switch (options.view) {
    case PlanView::ops:
      check_rank(lowered.program, options.rank);
      return {.text = head + print_ops(lowered.program, options.rank)};
    case PlanView::grid:
      return {.text = head + schedule_grid(lowered.program, {}, kAllColumns)};
    default:
      return {.text = head + print_program(lowered.program)};
  }
}

}  // namespace

int run_plan(const Options& options, Output& output) {
  return answer_scenarios(options, output, answer_plan);
}

}  // namespace windtunnel
