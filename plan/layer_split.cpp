#include "plan/layer_split.h"

namespace windtunnel {

namespace {

/// huggingface/nanotron models/base.py and models/llama.py: blocks in order (embedding, layers,
/// final norm, head) go to stage k until their cumulative cost passes (k + 1) / n of the total; the
/// block that passes it is the stage's last. Cost per token: layer 4 h a d + 3 h f, head h V,
/// others 0.
std::vector<int> split_by_cost(const Model& m, int chunks) {
  const double layer = 4.0 * static_cast<double>(m.heads * m.head_dim * m.hidden) +
                       3.0 * static_cast<double>(m.ffn * m.hidden);
  const double head = static_cast<double>(m.hidden * m.vocab);
  const double total = layer * static_cast<double>(m.layers) + head;
  std::vector<int> layers(static_cast<std::size_t>(chunks), 0);
  int chunk = 0;
  double done = 0.0;
  for (std::int64_t i = 0; i < m.layers; ++i) {
    ++layers[static_cast<std::size_t>(chunk)];
    done += layer;
    if (done > total * (chunk + 1) / chunks && chunk + 1 < chunks) ++chunk;
  }
  return layers;
}

}  // namespace

LayerSplitResult split_layers(const Model& m, int chunks, LayerSplit rule) {
  if (rule == LayerSplit::by_cost && chunks > 1) {
    return {.layers = split_by_cost(m, chunks), .rule = "by cumulative cost (nanotron)"};
  }
  const int total = static_cast<int>(m.layers);
  const std::size_t n = static_cast<std::size_t>(chunks);
  // NVIDIA-NeMo/Megatron-Bridge recipes/deepseek/deepseek_v3.py: 61 layers and the prediction on 16
  // chunks are fifteen times 4 and 1, on 8 seven times 8 and 5, on 4 three times 16 and 13.
  if (const int most = (total + chunks - 1) / chunks;
      m.mtp_layers > 0 && chunks > 1 && most * (chunks - 1) <= total) {
    std::vector<int> layers(n, most);
    layers.back() = total - most * (chunks - 1);
    return {.layers = layers,
            .rule = "the last chunk, which predicts further tokens, has the rest"};
  }
  if (total % chunks == 0) {
    return {.layers = std::vector<int>(n, total / chunks), .rule = "equal"};
  }
  if ((total + 2) % chunks == 0 && chunks >= 2) {
    std::vector<int> layers(n, (total + 2) / chunks);
    --layers.front();
    --layers.back();
    return {.layers = layers, .rule = "embedding and head count as one layer each"};
  }
  const int left = total % chunks;
  std::vector<int> layers(n, total / chunks);
  for (int i = 0; i < left; ++i) ++layers[static_cast<std::size_t>((chunks - left) / 2 + i)];
  return {.layers = layers, .rule = "leftover layers one each to the middle chunks"};
}

}  // namespace windtunnel
