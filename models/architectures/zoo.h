#pragma once
// The zoo: published models by name.
//
// One YAML file per model under `zoo/`, compiled into the program so that it needs no data folder.
// A file is the scenario format's model mapping with every key written out, plus the keys of
// model.h that only the zoo and config readers set; each states its source in a comment.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/architectures/model.h"

namespace windtunnel {

/// nullopt when the zoo has no model of that name.
std::optional<Model> zoo_model(std::string_view name);

/// Names in alphabetical order.
std::vector<std::string> zoo_names();

}  // namespace windtunnel
