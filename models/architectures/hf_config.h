#pragma once
// A model from the config.json that Hugging Face stores beside its weights.
//
// `model_type` selects a row of the family table (hf_families.h); the row reads the fields of that
// family and fills in what its code fixes without a field (activations, biases, norms). Fields a
// family does not need are ignored, as the format is not ours. Every problem of a file is reported
// in one InputError: missing fields by name, wrong types, numbers out of range, sizes that do not
// divide, an unknown `model_type` with the known ones.

#include <string>
#include <string_view>

#include "models/architectures/model.h"

namespace windtunnel {

/// Reads `path`; files over 16 MiB are refused unread.
Model load_hf_config(const std::string& path);

/// Reads `text`; `file` names it in errors.
Model parse_hf_config(std::string_view text, const std::string& file);

}  // namespace windtunnel
