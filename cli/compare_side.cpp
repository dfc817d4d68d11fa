#include "cli/compare_side.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include "cli/trace_target.h"
#include "core/diagnostics.h"
#include "core/nearest_name.h"
#include "scenarios/loader.h"

namespace windtunnel {

namespace {

/// All entries, or the one of the id; a file of one entry is that entry, whatever its id.
template <class Entry>
std::vector<Entry> chosen(std::vector<Entry> entries, const SideQuestion& question) {
  if (question.id.empty() || entries.size() == 1) return entries;
  std::vector<std::string_view> names;
  for (Entry& entry : entries) {
    if (entry.id == question.id) return {std::move(entry)};
    names.push_back(entry.id);
  }
  const auto near = nearest_name(question.id, names);
  refuse_file(question.path, "has no step `" + question.id + "`",
              near ? "did you mean `" + *near + "`?" : "");
}

void require_one(std::size_t entries, const SideQuestion& question) {
  if (question.trace.empty() || entries == 1) return;
  refuse_file(question.path, "holds several scenarios, and a trace is of one", "name it with --id");
}

CompareSide simulate_side(const SideQuestion& question, Output& output) {
  std::vector<Scenario> scenarios = chosen(load_scenarios(question.path).scenarios, question);
  require_one(scenarios.size(), question);
  for (const Scenario& scenario : scenarios) keep_inputs_of(question.trace, scenario);
  const bool trace = !question.trace.empty();
  CompareSide side;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    output.progress("scenario", i, scenarios.size());
    try {
      Simulation simulation = simulate(scenarios[i], {.trace = trace});
      side.file.steps.push_back(simulation.report);
      if (trace) side.traced = std::move(simulation);
    } catch (const InputError& error) {
      output.diagnostic(std::string(error.what()) + "\n");
      side.file.refused.push_back(scenarios[i].id);
    }
    scenarios[i] = {};  // sets are large; what is simulated is not needed
  }
  output.progress("scenario", scenarios.size(), scenarios.size());
  return side;
}

}  // namespace

bool names_scenario(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension();
  return extension == ".yaml" || extension == ".yml";
}

CompareSide load_side(const SideQuestion& question, Output& output) {
  if (names_scenario(question.path)) return simulate_side(question, output);
  CompareSide side{.file = read_step_file(question.path)};
  side.file.steps = chosen(std::move(side.file.steps), question);
  require_one(side.file.steps.size(), question);
  if (!question.id.empty()) side.file.refused.clear();
  return side;
}

}  // namespace windtunnel
