// Section `cluster.unit`: what ops cost on device `unit`.

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "scenarios/sections/scalars.h"
#include "scenarios/sections/sections.h"

namespace windtunnel {

namespace {

/// Pipeline actions: forward, backward, input gradient, weight gradient.
constexpr std::array<std::string_view, 4> kActions = {"F", "B", "I", "W"};
constexpr std::array<std::string_view, 2> kPasses = {"F", "B"};
constexpr std::array<std::string_view, 5> kCollectives = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"};

constexpr std::array<std::string_view, 3> kOffload = {"to_host", "to_device", "host"};

/// A mapping from the words of `names` to times.
template <std::size_t N>
void read_times(Reading& reading, const YamlValue& value,
                const std::array<std::string_view, N>& names,
                std::map<std::string, Seconds>& into) {
  if (!is_section(reading, value)) return;
  const std::string section = reading.path;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!find_key(reading, value.key(i), {names.begin(), names.end()})) continue;
    reading.path = dotted(section, value.key(i).text());
    record_place(reading, value.key(i), value.value(i));
    if (const auto time = seconds(reading, value.value(i))) {
      into[std::string(value.key(i).text())] = *time;
    }
    reading.path = section;
  }
}

void read_layer(Reading& reading, const YamlValue& value, UnitCosts& into) {
  read_times(reading, value, kActions, into.layer);
}
void read_attention(Reading& reading, const YamlValue& value, UnitCosts& into) {
  read_times(reading, value, kPasses, into.attention);
}
void read_collective(Reading& reading, const YamlValue& value, UnitCosts& into) {
  read_times(reading, value, kCollectives, into.collective);
}

void read_offload(Reading& reading, const YamlValue& value, UnitCosts& into) {
  read_times(reading, value, kOffload, into.offload);
}

void read_stage_scale(Reading& reading, const YamlValue& value, UnitCosts& into) {
  if (!is_section(reading, value)) return;
  const std::string section = reading.path;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto stage = index_number(reading, value.key(i));
    if (!stage) continue;
    reading.path = dotted(section, value.key(i).text());
    record_place(reading, value.key(i), value.value(i));
    if (const auto factor = positive_number(reading, value.value(i))) {
      into.stage_scale[*stage] = *factor;
    }
    reading.path = section;
  }
}

constexpr Key<UnitCosts> kUnitKeys[] = {
    {"layer", read_layer},
    {"attention", read_attention},
    {"stage_scale", read_stage_scale},
    {"hop", set<&UnitCosts::hop, seconds>},
    {"collective", read_collective},
    {"offload", read_offload},
    {"launch", set<&UnitCosts::launch, seconds>},
    {"graph_launch", set<&UnitCosts::graph_launch, seconds>},
    {"graph_gap", set<&UnitCosts::graph_gap, seconds>},
    {"else", set<&UnitCosts::otherwise, seconds>},
};

}  // namespace

void read_unit_costs(Reading& reading, const YamlValue& value, UnitCosts& into) {
  read_section(reading, value, kUnitKeys, into);
}

std::vector<KeySection> unit_keys() {
  return {{"cluster.unit", key_names(kUnitKeys)},
          {"cluster.unit.layer", {kActions.begin(), kActions.end()}},
          {"cluster.unit.attention", {kPasses.begin(), kPasses.end()}},
          {"cluster.unit.collective", {kCollectives.begin(), kCollectives.end()}},
          {"cluster.unit.offload", {kOffload.begin(), kOffload.end()}}};
}

}  // namespace windtunnel
