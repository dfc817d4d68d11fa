#include "models/architectures/adapters.h"

#include "models/architectures/gemm.h"

namespace windtunnel {

std::int64_t qkv_parts(const LoraShape& lora) {
  return lora.per_projection ? 3 : 1;
}

std::int64_t fc1_parts(const LoraShape& lora, const Model& model) {
  return lora.per_projection && model.gated() ? 2 : 1;
}

std::int64_t adapter_parameters(const Model& m, const LoraShape& lora) {
  const std::int64_t h = m.hidden, q = m.query_width();
  const std::int64_t fc1 = m.gated() ? 2 * m.ffn : m.ffn;
  const std::int64_t attention = qkv_parts(lora) * h + q + 2 * m.kv_width() + q + h;
  const std::int64_t mlp = fc1_parts(lora, m) * h + fc1 + m.ffn + h;
  return m.layers * lora.rank * ((lora.attention ? attention : 0) + (lora.mlp ? mlp : 0));
}

Flops lora_flops_per_token(const Model& model, const LoraShape& lora, const FlopQuery& query) {
  const LayerFlops layers = layers_forward_flops(model, query.sequence, AttentionSpan::causal);
  const Flops frozen = layers.matrix_products() + head_forward_flops(model, query.vocab_rows);
  const Flops adapters{6.0 * static_cast<double>(adapter_parameters(model, lora))};
  return 2.0 * frozen + (1.0 + kGemmBackwardFactor) * layers.core_attention + adapters;
}

}  // namespace windtunnel
