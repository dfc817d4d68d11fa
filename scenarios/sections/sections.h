#pragma once
// The sections of a scenario: each reads one written value into one struct, reports every problem
// in it and applies the defaults that are fixed (those of a preset are left to the plan).

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "scenarios/sections/reading.h"

namespace windtunnel {

void read_stack(Reading& reading, const YamlValue& value, Stack& into);
/// A zoo name, the path of a Hugging Face config.json, or a mapping.
void read_model(Reading& reading, const YamlValue& value, Model& into);
/// A name under scenarios/clusters, a path, or a mapping.
void read_cluster(Reading& reading, const YamlValue& value, Cluster& into);
/// A name under scenarios/clusters/networks or a mapping.
void read_network(Reading& reading, const YamlValue& value, NetworkSpec& into);
/// What ops cost on device `unit`.
void read_unit_costs(Reading& reading, const YamlValue& value, UnitCosts& into);
void read_batch(Reading& reading, const YamlValue& value, Batch& into);
void read_plan(Reading& reading, const YamlValue& value, Plan& into);
void read_schedule(Reading& reading, const YamlValue& value, SchedulePart& into);
void read_sharding(Reading& reading, const YamlValue& value, ShardingPart& into);
void read_recompute(Reading& reading, const YamlValue& value, RecomputePart& into);
void read_precision(Reading& reading, const YamlValue& value, PrecisionPart& into);
void read_allocator(Reading& reading, const YamlValue& value, AllocatorSpec& into);
void read_data(Reading& reading, const YamlValue& value, DataSpec& into);
void read_measured(Reading& reading, const YamlValue& value, Measured& into);
void read_workload(Reading& reading, const YamlValue& value, Workload& into);
/// Checks the shape of `run` and keeps its scalars; `goodput` gives them their meaning.
void read_run(Reading& reading, const YamlValue& value, Scenario& into);
void read_sweep(Reading& reading, const YamlValue& value, Scenario& into);
/// A whole scenario: every key of the format at its top.
void read_scenario(Reading& reading, const YamlValue& value, Scenario& into);

/// A table of keys by the dotted path of its section ("" is the scenario).
struct KeySection {
  std::string path;
  std::vector<std::string_view> keys;
};

/// Each section's own tables; `format_keys.h` puts them together.
std::vector<KeySection> scenario_keys();
std::vector<KeySection> model_keys();
std::vector<KeySection> cluster_keys();
std::vector<KeySection> unit_keys();
std::vector<KeySection> plan_keys();
std::vector<KeySection> plan_part_keys();
std::vector<KeySection> job_keys();
std::vector<KeySection> long_run_keys();

}  // namespace windtunnel
