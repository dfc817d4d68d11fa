#pragma once
// Every key and word of the scenario format, taken from the tables the loader reads by. The JSON
// schema is compared with it, `sweep` checks its axes against it.

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/sections/sections.h"

namespace windtunnel {

/// All sections; "" is the scenario itself, "cluster.degraded" an item of that list.
std::vector<KeySection> format_sections();

/// The words a key takes, by dotted key: "plan.optimizer" -> adamw, sgd, ...
std::vector<KeySection> format_words();

}  // namespace windtunnel
