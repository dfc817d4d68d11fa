// Sections `run` and `sweep`: read by other verbs. Here their shape is checked and their scalars
// are kept as written.

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/format_keys.h"
#include "scenarios/sections/scalars.h"
#include "scenarios/sections/sections.h"
#include "scenarios/yaml/utf8.h"

namespace windtunnel {

namespace {

/// Keeps every scalar below `value` under its dotted path without the leading "run.".
void keep_scalars(const Reading& reading, const YamlValue& value, const std::string& path,
                  std::map<std::string, std::string>& into) {
  if (value.is_scalar()) {
    into[path] = value.text();
  } else if (value.is_map()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      keep_scalars(reading, value.value(i), dotted(path, value.key(i).text()), into);
    }
  } else if (value.is_sequence()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      keep_scalars(reading, value.item(i), fmt::format("{}.{}", path, i), into);
    }
  } else {
    reading.problem(value, fmt::format("`{}` has no value", path), "");
  }
}

void keep(Reading& reading, const YamlValue& value, Scenario& into) {
  keep_scalars(reading, value, reading.path, into.run);
}
void keep_time(Reading& reading, const YamlValue& value, Scenario& into) {
  if (seconds(reading, value)) keep(reading, value, into);
}
void keep_count(Reading& reading, const YamlValue& value, Scenario& into) {
  if (positive(reading, value)) keep(reading, value, into);
}
void keep_number(Reading& reading, const YamlValue& value, Scenario& into) {
  if (positive_number(reading, value)) keep(reading, value, into);
}
void keep_section(Reading& reading, const YamlValue& value, Scenario& into) {
  if (is_section(reading, value)) keep(reading, value, into);
}
void keep_list(Reading& reading, const YamlValue& value, Scenario& into) {
  if (is_list(reading, value)) keep(reading, value, into);
}

constexpr Key<Scenario> kRunKeys[] = {
    {"duration", keep_time},
    {"steps", keep_count},
    {"tokens", keep_number},
    {"seed", keep_count},
    {"clock", keep},
    {"failures", keep_section},
    {"stragglers", keep_list},
    {"silent_corruption", keep_section},
    {"detection", keep_section},
    {"recovery", keep_section},
    {"spares", keep_section},
    {"checkpoint", keep_section},
    {"elastic", keep_section},
    {"cost", keep_section},
    {"monte_carlo", keep_section},
};

/// Whether "plan.tp" is a key of the format: its section has a table and the table has the key.
bool is_format_key(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  const std::string_view section = dot == std::string_view::npos ? "" : key.substr(0, dot);
  const std::string_view last = dot == std::string_view::npos ? key : key.substr(dot + 1);
  for (const KeySection& known : format_sections()) {
    if (known.path != section) continue;
    return std::find(known.keys.begin(), known.keys.end(), last) != known.keys.end();
  }
  return false;
}

void read_axis(Reading& reading, const YamlValue& key, const YamlValue& values, Scenario& into) {
  if (!is_format_key(key.text())) {
    reading.problem(key, fmt::format("{} is not a key of the format", in_quotes(key.text())),
                    "a dotted key, for example plan.tp");
    return;
  }
  if (!is_list(reading, values)) return;
  if (values.size() == 0) reading.problem(values, "an axis needs values", "[1, 2, 4, 8]");
  if (auto texts = list_of<free_text>(reading, values)) {
    into.sweep.push_back({.key = std::string(key.text()), .values = std::move(*texts)});
  }
}

void read_over(Reading& reading, const YamlValue& value, Scenario& into) {
  if (!is_section(reading, value)) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    read_axis(reading, value.key(i), value.value(i), into);
  }
}

constexpr Key<Scenario> kSweepKeys[] = {{"over", read_over}};

}  // namespace

void read_run(Reading& reading, const YamlValue& value, Scenario& into) {
  read_section(reading, value, kRunKeys, into);
}

void read_sweep(Reading& reading, const YamlValue& value, Scenario& into) {
  read_section(reading, value, kSweepKeys, into);
  require_keys(reading, value, {"over"}, "{over: {plan.tp: [1, 2, 4, 8]}}");
}

std::vector<KeySection> long_run_keys() {
  return {{"run", key_names(kRunKeys)}, {"sweep", key_names(kSweepKeys)}};
}

}  // namespace windtunnel
