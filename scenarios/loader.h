#pragma once
// From a scenario file to validated scenarios.
//
// A file holds one scenario, or a set {name, source, defaults, scenarios} whose entries are merged
// over `defaults`. Layers, each in its own files: yaml/ (guarded text, tree with places, merge),
// sections/ (a table of keys per section), rules/ (what must divide), not_built.h. Every error of a
// file is reported in one InputError; time and memory are bounded for any input.

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.h"

namespace windtunnel {

/// Throws InputError. A single scenario without an id takes the file's name without its ending.
/// Relative paths in it start at the file's folder.
ScenarioSet load_scenarios(const std::string& path);

/// As load_scenarios, from text; `file_name` names it in errors and gives the folder.
ScenarioSet load_scenarios_text(std::string_view text, std::string file_name);

/// A file itself, or every *.yaml and *.yml below a folder, sorted by path. Throws InputError when
/// there is no such file or folder, or none in the folder.
std::vector<std::string> find_scenario_files(const std::string& path);

}  // namespace windtunnel
