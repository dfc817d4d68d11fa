#pragma once
// Which parts of a model go beyond the dense GPT and Llama layers: what a lowering must either know
// or refuse by name.

#include <string>
#include <vector>

#include "models/architectures/model.h"

namespace windtunnel {

/// Names as in the scenario format ("moe", "mla", "sliding_window", ...); empty for a model made of
/// attention with grouped queries, MLP, norms, word and position embedding, embedding norm, head.
std::vector<std::string> features_beyond_dense(const Model& model);

}  // namespace windtunnel
