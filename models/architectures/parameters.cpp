#include "models/architectures/parameters.h"

#include <utility>

#include "core/check.h"

namespace windtunnel {
namespace {

using Tensors = std::vector<Tensor>;

void append(Tensors& to, Tensors from) {
  for (Tensor& t : from) to.push_back(std::move(t));
}

Tensors norm_tensors(const Model& m, const std::string& name) {
  Tensors out{{.name = name + ".weight", .rows = m.hidden}};
  if (m.norm == NormKind::layernorm) out.push_back({.name = name + ".bias", .rows = m.hidden});
  return out;
}

Tensors linear_tensors(const std::string& name, std::int64_t rows, std::int64_t cols,
                       std::optional<std::int64_t> bias) {
  Tensors out{{.name = name + ".weight", .rows = rows, .cols = cols}};
  if (bias) out.push_back({.name = name + ".bias", .rows = *bias});
  return out;
}

std::optional<std::int64_t> rows_if(bool present, std::int64_t rows) {
  return present ? std::optional(rows) : std::nullopt;
}

Tensors attention_tensors(const Model& m) {
  const std::int64_t qkv = m.query_width() + 2 * m.kv_width();
  Tensors out = linear_tensors("qkv", qkv, m.hidden, rows_if(m.bias || m.qkv_bias, qkv));
  if (m.qk_norm) {
    out.push_back({.name = "q_norm.weight", .rows = m.head_dim});
    out.push_back({.name = "k_norm.weight", .rows = m.head_dim});
  }
  append(out, linear_tensors("proj", m.hidden, m.query_width(), rows_if(m.bias, m.hidden)));
  return out;
}

Tensors mla_tensors(const Model& m) {
  const MlaShape& mla = *m.mla;
  const std::int64_t q_rows = m.heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
  Tensors out;
  if (mla.q_lora_rank > 0) {
    out = {{.name = "q_down.weight", .rows = mla.q_lora_rank, .cols = m.hidden},
           {.name = "q_norm.weight", .rows = mla.q_lora_rank},
           {.name = "q_up.weight", .rows = q_rows, .cols = mla.q_lora_rank}};
  } else {  // DeepSeek-V2-Lite projects the query directly
    out = {{.name = "q.weight", .rows = q_rows, .cols = m.hidden}};
  }
  append(out, {{.name = "kv_down.weight",
                .rows = mla.kv_lora_rank + mla.qk_rope_head_dim,
                .cols = m.hidden},
               {.name = "kv_norm.weight", .rows = mla.kv_lora_rank},
               {.name = "kv_up.weight",
                .rows = m.heads * (mla.qk_nope_head_dim + mla.v_head_dim),
                .cols = mla.kv_lora_rank},
               {.name = "proj.weight", .rows = m.hidden, .cols = m.heads * mla.v_head_dim}});
  return out;
}

Tensors mlp_tensors(const Model& m, const std::string& prefix, std::int64_t width) {
  const std::int64_t fc1 = m.gated() ? 2 * width : width;
  Tensors out = linear_tensors(prefix + "fc1", fc1, m.hidden, rows_if(m.bias, fc1));
  append(out, linear_tensors(prefix + "fc2", m.hidden, width, rows_if(m.bias, m.hidden)));
  return out;
}

Tensors moe_tensors(const Model& m) {
  const MoeShape& moe = *m.moe;
  Tensors out{{.name = "router.weight", .rows = moe.experts, .cols = m.hidden}};
  if (moe.router_bias) {
    // The bias decides which experts are chosen but no token is multiplied with it.
    out.push_back({.name = "router.bias", .rows = moe.experts, .active = 0});
  }
  for (Tensor& t : mlp_tensors(m, "experts.", moe.ffn)) {
    t.copies = moe.experts;
    t.active = moe.top_k;
    out.push_back(std::move(t));
  }
  if (moe.shared_experts > 0) {
    append(out, mlp_tensors(m, "shared.", moe.shared_experts * moe.ffn));
  }
  return out;
}

std::int64_t sum_counts(const Tensors& tensors) {
  std::int64_t sum = 0;
  for (const Tensor& t : tensors) sum += t.count();
  return sum;
}

std::int64_t sum_active(const Tensors& tensors) {
  std::int64_t sum = 0;
  for (const Tensor& t : tensors) sum += t.active_count();
  return sum;
}

}  // namespace

bool is_moe_layer(const Model& model, std::int64_t layer) {
  return model.moe && layer >= model.moe->dense_layers && layer % model.moe->every == 0;
}

std::vector<LayerKind> layer_kinds(const Model& model) {
  LayerKind dense, experts;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    LayerKind& kind = is_moe_layer(model, layer) ? experts : dense;
    kind = {.layer = layer, .count = kind.count + 1};
  }
  std::vector<LayerKind> kinds;
  if (dense.count > 0) kinds.push_back(dense);
  if (experts.count > 0) kinds.push_back(experts);
  return kinds;
}

std::vector<Tensor> layer_tensors(const Model& model, std::int64_t layer) {
  Tensors out = norm_tensors(model, "norm1");
  append(out, model.mla ? mla_tensors(model) : attention_tensors(model));
  if (!model.parallel_block) append(out, norm_tensors(model, "norm2"));
  append(out, is_moe_layer(model, layer) ? moe_tensors(model) : mlp_tensors(model, "", model.ffn));
  return out;
}

std::vector<Tensor> mtp_tensors(const Model& model) {
  Tensors out = norm_tensors(model, "embedding_norm");
  append(out, norm_tensors(model, "hidden_norm"));
  out.push_back({.name = "mtp_projection.weight", .rows = model.hidden, .cols = 2 * model.hidden});
  append(out, layer_tensors(model, model.layers - 1));
  append(out, norm_tensors(model, "final_norm"));
  return out;
}

ParameterCount count_parameters(const Model& model, std::optional<std::int64_t> vocab_rows) {
  const std::int64_t rows = vocab_rows.value_or(vocab_rows_of(model));
  CHECK(rows >= model.vocab, "padded vocabulary is smaller than the vocabulary");
  ParameterCount count;
  count.embedding = rows * model.hidden;
  if (model.position == PositionKind::learned) {
    count.position = model.max_positions * model.hidden;
  }
  if (model.embedding_norm) count.embedding_norm = sum_counts(norm_tensors(model, "norm"));
  for (const LayerKind& kind : layer_kinds(model)) {
    const Tensors tensors = layer_tensors(model, kind.layer);
    count.layers += kind.count * sum_counts(tensors);
    count.layers_active += kind.count * sum_active(tensors);
  }
  count.final_norm = sum_counts(norm_tensors(model, "final_norm"));
  count.head = model.tied_embeddings ? 0 : rows * model.hidden;
  if (model.mtp_layers > 0) count.mtp = model.mtp_layers * sum_counts(mtp_tensors(model));
  return count;
}

std::int64_t vocab_rows_of(const Model& model) {
  return model.vocab_padded_to.value_or(model.vocab);
}

std::int64_t padded_vocab(std::int64_t vocab, std::int64_t multiple) {
  CHECK(multiple >= 1, "vocabulary multiple");
  return (vocab + multiple - 1) / multiple * multiple;
}

}  // namespace windtunnel
