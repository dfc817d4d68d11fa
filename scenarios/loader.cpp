#include "scenarios/loader.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "scenarios/not_built.h"
#include "scenarios/rules/rules.h"
#include "scenarios/scenario_place.h"
#include "scenarios/sections/scalars.h"
#include "scenarios/sections/sections.h"
#include "scenarios/yaml/merge.h"
#include "scenarios/yaml/parse.h"
#include "scenarios/yaml/utf8.h"

namespace windtunnel {

namespace {

/// A set's own keys; its scenarios as written, before merging.
struct SetDraft {
  ScenarioSet set;
  std::optional<std::uint32_t> defaults;
  std::vector<std::uint32_t> entries;
};

template <auto member>
void set_text(Reading& reading, const YamlValue& value, SetDraft& into) {
  set<member, free_text>(reading, value, into.set);
}

void read_defaults(Reading& reading, const YamlValue& value, SetDraft& into) {
  if (is_section(reading, value)) into.defaults = value.index();
}

void read_entries(Reading& reading, const YamlValue& value, SetDraft& into) {
  if (!is_list(reading, value)) return;
  if (value.size() == 0) reading.problem(value, "the set has no scenarios", "");
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (is_section(reading, value.item(i))) into.entries.push_back(value.item(i).index());
  }
}

constexpr Key<SetDraft> kSetKeys[] = {
    {"name", set_text<&ScenarioSet::name>},
    {"source", set_text<&ScenarioSet::source>},
    {"defaults", read_defaults},
    {"scenarios", read_entries},
};

/// One load: what its scenarios share.
class Load {
 public:
  Load(const SharedText& source, std::string directory)
      : tree_(parse_yaml(source)), directory_(std::move(directory)) {}

  ScenarioSet read() {
    const YamlValue root(tree_, tree_.root);
    ScenarioSet set = root.find("scenarios") ? read_set(root) : read_single(root);
    set.file = tree_.source->file();
    problems_.throw_if_any();
    return set;
  }

 private:
  Reading reading_for(Scenario& scenario, std::vector<SharedText>& sources) {
    return {.problems = problems_,
            .files = files_,
            .directory = directory_,
            .positions = scenario.positions,
            .sources = sources,
            .path = {}};
  }

  Scenario read_one(const YamlValue& value) {
    Scenario scenario;
    scenario.sources.push_back(tree_.source);
    const std::size_t before = problems_.added();
    Reading reading = reading_for(scenario, scenario.sources);
    read_scenario(reading, value, scenario);
    if (problems_.added() != before) return scenario;
    const std::vector<Diagnostic> broken = check_rules(scenario);
    problems_.add_all(broken);
    if (broken.empty()) scenario.not_built = keys_not_built(scenario);
    return scenario;
  }

  ScenarioSet read_single(const YamlValue& root) {
    ScenarioSet set;
    Scenario scenario = read_one(root);
    if (scenario.id.empty()) {
      scenario.id = std::filesystem::path(tree_.source->file()).stem().string();
    }
    set.scenarios.push_back(std::move(scenario));
    return set;
  }

  ScenarioSet read_set(const YamlValue& root) {
    SetDraft draft;
    Scenario none;  // a set's own keys need no places
    std::vector<SharedText> sources;
    Reading reading = reading_for(none, sources);
    read_section(reading, root, kSetKeys, draft);
    if (draft.defaults && YamlValue(tree_, *draft.defaults).find("id")) {
      reading.problem(*YamlValue(tree_, *draft.defaults).find("id"),
                      "an id in `defaults` would be every scenario's", "");
    }
    Merger merger(tree_);
    for (std::uint32_t& entry : draft.entries) {
      if (draft.defaults) entry = merger.merge(*draft.defaults, entry);
    }
    std::map<std::string, SourcePosition> seen;
    for (const std::uint32_t entry : draft.entries) {
      Scenario scenario = read_one(YamlValue(tree_, entry));
      check_id(scenario, YamlValue(tree_, entry), seen);
      draft.set.scenarios.push_back(std::move(scenario));
    }
    return std::move(draft.set);
  }

  void check_id(const Scenario& scenario, const YamlValue& entry,
                std::map<std::string, SourcePosition>& seen) {
    if (!entry.find("id")) {
      problems_.add(entry.diagnostic("a scenario of a set needs an id", "for example id: first"));
      return;
    }
    if (scenario.id.empty()) return;
    const auto [first, fresh] = seen.emplace(scenario.id, position_of(scenario, "id"));
    if (fresh) return;
    problems_.add(diagnostic_at(scenario, "id",
                                fmt::format("id {} is given twice", in_quotes(scenario.id)),
                                fmt::format("it was first given on line {}", first->second.line)));
  }

  YamlTree tree_;
  std::string directory_;
  ProblemList problems_;
  FileCache files_;
};

std::string folder_of(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

ScenarioSet load_scenarios(const std::string& path) {
  return Load(read_source(path), folder_of(path)).read();
}

ScenarioSet load_scenarios_text(std::string_view text, std::string file_name) {
  std::string folder = folder_of(file_name);
  return Load(guarded_text(std::move(file_name), text), std::move(folder)).read();
}

}  // namespace windtunnel
