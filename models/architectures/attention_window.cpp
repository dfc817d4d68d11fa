#include "models/architectures/attention_window.h"

#include <algorithm>

namespace windtunnel {

bool has_window(const Model& model, std::int64_t layer) {
  if (model.layer_pattern.empty()) return true;
  const auto turn = static_cast<std::size_t>(layer) % model.layer_pattern.size();
  return model.layer_pattern[turn] == LayerAttention::local;
}

std::int64_t attention_window(const Model& model, std::int64_t layer, std::int64_t sequence) {
  if (!model.sliding_window || *model.sliding_window >= sequence) return 0;
  return has_window(model, layer) ? *model.sliding_window : 0;
}

double causal_pairs(double sequence, double window) {
  const double w = window > 0 ? std::min(window, sequence) : sequence;
  return sequence * w - w * w / 2.0;
}

}  // namespace windtunnel
