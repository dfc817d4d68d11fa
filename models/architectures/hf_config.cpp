#include "models/architectures/hf_config.h"

#include <algorithm>

#include "models/architectures/hf_families.h"
#include "models/architectures/hf_fields.h"
#include "models/architectures/json_object.h"
#include "models/architectures/model_problems.h"

namespace windtunnel {
namespace {

std::string known_types() {
  std::string list;
  for (const HfFamily& row : hf_families()) {
    list += (list.empty() ? "" : ", ") + std::string(row.model_type);
  }
  return list;
}

Model model_from(JsonObject object, const std::string& file) {
  HfFields fields(std::move(object), file);
  if (!fields.has("model_type")) {
    fields.refuse("model_type", "field `model_type` is missing", "known types: " + known_types());
    throw InputError(fields.errors());
  }
  const std::string type = fields.text("model_type", {});
  if (!fields.errors().empty()) throw InputError(fields.errors());
  const auto row = std::ranges::find(hf_families(), type, &HfFamily::model_type);
  if (row == hf_families().end()) {
    fields.refuse("model_type", "unknown `model_type` " + quoted(type),
                  "known types: " + known_types());
    throw InputError(fields.errors());
  }
  Model model = row->read(fields);
  model.name = fields.text("_name_or_path", {});
  if (model.name.empty()) model.name = type;
  if (fields.errors().empty()) {
    for (const ModelProblem& problem : model_problems(model)) fields.refuse("", problem.message);
  }
  if (!fields.errors().empty()) throw InputError(fields.errors());
  return model;
}

}  // namespace

Model load_hf_config(const std::string& path) {
  return model_from(load_json_object(path), path);
}

Model parse_hf_config(std::string_view text, const std::string& file) {
  return model_from(parse_json_object(text, file), file);
}

}  // namespace windtunnel
