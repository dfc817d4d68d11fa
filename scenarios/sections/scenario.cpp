// A whole scenario.

#include <fmt/format.h>

#include <filesystem>

#include "scenarios/sections/files.h"
#include "scenarios/sections/scalars.h"
#include "scenarios/sections/sections.h"

namespace windtunnel {

namespace {

std::optional<std::string> identity(const Reading& reading, const YamlValue& value) {
  auto text = free_text(reading, value);
  if (!text || !text->empty()) return text;
  reading.problem(value, "must not be empty", "");
  return std::nullopt;
}

/// `auto`, or a calibration result: a file, or a place where a calibration will put one.
void read_profile(Reading& reading, const YamlValue& value, Scenario& into) {
  if (is_word(value, "auto")) return;
  if (!free_text(reading, value)) return;
  if (const auto path = possible_file(reading, value)) into.profile = *path;
}

template <auto member, auto read>
void read_part(Reading& reading, const YamlValue& value, Scenario& into) {
  read(reading, value, into.*member);
}

void read_measured_key(Reading& reading, const YamlValue& value, Scenario& into) {
  read_measured(reading, value, into.measured.emplace());
}

constexpr Key<Scenario> kScenarioKeys[] = {
    {"id", set<&Scenario::id, identity>},
    {"name", set<&Scenario::name, free_text>},
    {"group", set<&Scenario::group, free_text>},
    {"assumed", set<&Scenario::assumed, list_of<free_text>>},
    {"stack", read_part<&Scenario::stack, read_stack>},
    {"model", read_part<&Scenario::model, read_model>},
    {"cluster", read_part<&Scenario::cluster, read_cluster>},
    {"profile", read_profile},
    {"batch", read_part<&Scenario::batch, read_batch>},
    {"plan", read_part<&Scenario::plan, read_plan>},
    {"allocator", read_part<&Scenario::allocator, read_allocator>},
    {"data", read_part<&Scenario::data, read_data>},
    {"measured", read_measured_key},
    {"workload", read_part<&Scenario::workload, read_workload>},
    {"sweep", read_sweep},
    {"run", read_run},
};

}  // namespace

void read_scenario(Reading& reading, const YamlValue& value, Scenario& into) {
  reading.positions[""] = value.position();
  read_section(reading, value, kScenarioKeys, into);
  require_keys(reading, value, {"model", "cluster", "batch"},
               "{model: llama3-8b, cluster: dgx-h100-ndr, batch: {...}, plan: {...}}");
}

std::vector<KeySection> scenario_keys() {
  return {{"", key_names(kScenarioKeys)}};
}

}  // namespace windtunnel
