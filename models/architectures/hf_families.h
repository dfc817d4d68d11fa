#pragma once
// The Hugging Face model families that can be read: one row per `model_type`.
//
// A row's function fills in a Model from the fields of its family. What a family's code fixes
// without a field is stated in its doc (source: huggingface/transformers, models/<type>/).

#include <span>

#include "models/architectures/hf_fields.h"
#include "models/architectures/model.h"

namespace windtunnel {

struct HfFamily {
  const char* model_type;
  const char* doc;
  Model (*read)(HfFields& fields);
};

std::span<const HfFamily> hf_families();

}  // namespace windtunnel
