#pragma once
// What is wrong with a model as numbers: sizes out of range, sizes that do not divide.
//
// Every reader of models (scenario, Hugging Face config, zoo) asks this once after filling in a
// Model and reports what it finds at the place the field was written. A model without problems has
// counts and FLOPs that fit their types.

#include <cstdint>
#include <string>
#include <vector>

#include "models/architectures/model.h"

namespace windtunnel {

/// Ranges far above any model built; they keep every product inside 64 bits.
constexpr std::int64_t kMaxLayers = 100'000;
constexpr std::int64_t kMaxWidth = std::int64_t{1} << 24;  // hidden, ffn, head_dim, low ranks
constexpr std::int64_t kMaxHeads = std::int64_t{1} << 20;
constexpr std::int64_t kMaxExperts = std::int64_t{1} << 20;
constexpr std::int64_t kMaxRows = std::int64_t{1} << 31;  // vocabulary and position table
constexpr double kMaxParameters = 1e15;

struct ModelProblem {
  std::string field;  // as in the scenario format: "heads", "moe.top_k"; "" for the whole model
  std::string message;
};

/// All problems, empty when there are none.
std::vector<ModelProblem> model_problems(const Model& model);

}  // namespace windtunnel
