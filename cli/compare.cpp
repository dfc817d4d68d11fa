#include "report/compare.h"

#include <algorithm>

#include "cli/compare_side.h"
#include "cli/exit_code.h"
#include "cli/trace_target.h"
#include "cli/verb.h"
#include "core/diagnostics.h"
#include "core/nearest_name.h"
#include "report/compare_json.h"
#include "report/compare_text.h"
#include "report/json_text.h"
#include "report/step_pairs.h"
#include "report/text_layout.h"
#include "report/trace_file.h"
#include "report/trace_pair.h"

namespace windtunnel {

namespace {

/// A side's own trace, or the one of a file.
TraceSource source_of(const CompareSide& side, const std::string& trace_file) {
  if (!trace_file.empty()) {
    return [&trace_file](const TraceEventSink& sink) { read_trace_file(trace_file, sink); };
  }
  return [&simulation = *side.traced](const TraceEventSink& sink) {
    chrome_trace_events(simulation.lowered.program, simulation.trace, sink);
  };
}

/// A JSON file holds no trace.
void require_trace(const std::string& path, const std::string& trace_file, const char* option) {
  if (!trace_file.empty() || names_scenario(path)) return;
  refuse_file(path, "holds no trace",
              std::string("add ") + option + " FILE, written by run or simulate --trace FILE");
}

std::string ids_text(const std::vector<std::string>& ids) {
  return join_names({ids.begin(), ids.end()});
}

struct Answers {
  std::vector<std::string> documents;  // of each pair
  bool over = false;
};

Answers answer_pairs(const StepPairs& pairs, const StepFile& a, const StepFile& b,
                     const Options& options) {
  Answers answers;
  for (const StepPair& pair : pairs.pairs) {
    const Comparison comparison = compare_steps(a.steps[pair.a], b.steps[pair.b]);
    const std::vector<Violation> violations = violations_of(comparison, options.limits);
    answers.over = answers.over || !violations.empty();
    answers.documents.push_back(options.json ? comparison_json(comparison, violations)
                                             : compare_text(comparison) +
                                                   limits_lines(violations, options.limits));
  }
  return answers;
}

/// The lists of ids that have no comparison, by the key of the JSON.
using Missing = std::vector<std::pair<const char*, std::vector<std::string>>>;

std::string document_json(const Answers& answers, const Missing& missing) {
  std::string text = "{\"comparisons\": " + json_array(answers.documents);
  for (const auto& [key, ids] : missing) {
    std::vector<std::string> names;
    for (const std::string& id : ids) names.push_back(json_string(id));
    text += ",\n\"" + std::string(key) + "\": " + json_array(names);
  }
  return text + "}\n";
}

std::string document_text(const Answers& answers, const Missing& missing) {
  std::string text;
  for (const std::string& document : answers.documents)
    text += (text.empty() ? "" : "\n\n") + document;
  for (const auto& [key, ids] : missing) {
    if (ids.empty()) continue;
    std::string label = key;
    std::replace(label.begin(), label.end(), '_', ' ');
    text += "\n" + wrap_text(ids_text(ids), label + "  ");
  }
  return text;
}

void require_pairs(const StepPairs& pairs, const Options& options) {
  if (!pairs.pairs.empty()) return;
  constexpr std::size_t kShown = 8;
  std::vector<std::string> ids = pairs.only_in_a;
  if (ids.size() > kShown) ids.resize(kShown);
  refuse_file(options.paths[1], "has no step of " + options.paths[0],
              ids.empty() ? "" : "sets are matched by id; ids of A: " + ids_text(ids));
}

}  // namespace

int run_compare(const Options& options, Output& output) {
  const std::string &path_a = options.paths[0], &path_b = options.paths[1];
  const bool trace = !options.trace.empty();
  if (trace) {
    keep_inputs(options.trace, {path_a, path_b, options.trace_a, options.trace_b}, "an input");
    require_trace(path_a, options.trace_a, "--trace-a");
    require_trace(path_b, options.trace_b, "--trace-b");
  }
  const CompareSide a =
      load_side({.path = path_a, .id = options.id, .trace = options.trace}, output);
  const CompareSide b =
      load_side({.path = path_b, .id = options.id, .trace = options.trace}, output);
  const StepPairs pairs = pair_steps(a.file, b.file);
  require_pairs(pairs, options);
  const Answers answers = answer_pairs(pairs, a.file, b.file, options);
  const Missing missing = {{"only_in_a", pairs.only_in_a},
                           {"only_in_b", pairs.only_in_b},
                           {"refused_in_a", a.file.refused},
                           {"refused_in_b", b.file.refused}};
  if (trace) {
    write_trace_pair(source_of(a, options.trace_a), source_of(b, options.trace_b), options.trace);
  }
  output.result(options.json ? document_json(answers, missing) : document_text(answers, missing));
  // As for every verb: a scenario that is refused is bad input, whatever else was answered.
  const auto refused = [](const std::string& path, const CompareSide& side) {
    return names_scenario(path) && !side.file.refused.empty();
  };
  if (refused(path_a, a) || refused(path_b, b)) return kExitBadInput;
  const bool incomplete = std::any_of(missing.begin(), missing.end(),
                                      [](const auto& list) { return !list.second.empty(); });
  return answers.over || (incomplete && options.limits.any()) ? kExitDoesNotFit : kExitOk;
}

}  // namespace windtunnel
