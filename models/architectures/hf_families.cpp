#include "models/architectures/hf_families.h"

#include <fmt/format.h>

#include <algorithm>

namespace windtunnel {
namespace {

/// The width of one head when no field states it.
std::int64_t head_dim_of(HfFields& fields, const Model& m) {
  if (const auto stated = fields.optional_count("head_dim")) return *stated;
  // A field that was refused stands at 1: nothing follows from it.
  if (m.hidden % m.heads != 0 && fields.errors().empty()) {
    fields.refuse("num_attention_heads",
                  fmt::format("hidden size {} is not a multiple of {} heads", m.hidden, m.heads));
  }
  return std::max<std::int64_t>(m.hidden / m.heads, 1);
}

void require_activation(HfFields& fields, std::string_view name, const std::string& otherwise,
                        std::initializer_list<std::string_view> allowed) {
  const std::string stated = fields.text(name, otherwise);
  if (std::ranges::find(allowed, std::string_view(stated)) != allowed.end()) return;
  fields.refuse(name, fmt::format("`{}` {} is not modelled for this type", name, quoted(stated)),
                fmt::format("known: {}", fmt::join(allowed, ", ")));
}

/// LayerNorm, GELU, biases, four times wider MLP: what GPT-2 and BLOOM share.
Model gpt_shape(HfFields& fields, const std::string& context) {
  Model m;
  m.layers = fields.count({"n_layer", "num_hidden_layers"});
  m.hidden = fields.count({context == "gpt2" ? "n_embd" : "hidden_size", "n_embed"});
  m.heads = fields.count({"n_head", "num_attention_heads"});
  m.kv_heads = m.heads;
  m.head_dim = head_dim_of(fields, m);
  m.vocab = fields.count("vocab_size");
  m.ffn = fields.count_or("n_inner", 4 * m.hidden);
  m.tied_embeddings = fields.flag("tie_word_embeddings", true);
  return m;
}

Model read_gpt2(HfFields& fields) {
  Model m = gpt_shape(fields, "gpt2");
  m.max_positions = fields.count({"n_positions", "n_ctx"});
  require_activation(fields, "activation_function", "gelu_new",
                     {"gelu_new", "gelu", "gelu_fast", "gelu_pytorch_tanh"});
  // The library's default is 0.1 for each.
  m.dropout = fields.fraction("resid_pdrop", 0.1) > 0.0 ||
              fields.fraction("embd_pdrop", 0.1) > 0.0 || fields.fraction("attn_pdrop", 0.1) > 0.0;
  return m;
}

Model read_bloom(HfFields& fields) {
  Model m = gpt_shape(fields, "bloom");
  m.position = PositionKind::alibi;
  m.embedding_norm = true;
  m.dropout = fields.fraction("hidden_dropout", 0.0) > 0.0 ||
              fields.fraction("attention_dropout", 0.0) > 0.0;
  return m;
}

/// RMSNorm, RoPE, SwiGLU, no biases: what the Llama line shares.
Model llama_shape(HfFields& fields) {
  Model m;
  m.layers = fields.count("num_hidden_layers");
  m.hidden = fields.count("hidden_size");
  m.ffn = fields.count("intermediate_size");
  m.heads = fields.count("num_attention_heads");
  m.vocab = fields.count("vocab_size");
  m.activation = Activation::swiglu;
  m.norm = NormKind::rmsnorm;
  m.position = PositionKind::rope;
  m.bias = false;
  m.tied_embeddings = fields.flag("tie_word_embeddings", false);
  m.dropout = fields.fraction("attention_dropout", 0.0) > 0.0;
  require_activation(fields, "hidden_act", "silu", {"silu", "swish"});
  return m;
}

Model read_llama(HfFields& fields) {
  Model m = llama_shape(fields);
  m.kv_heads = fields.count_or("num_key_value_heads", m.heads);
  m.head_dim = head_dim_of(fields, m);
  const bool attention = fields.flag("attention_bias", false);
  m.bias = fields.flag("mlp_bias", false);
  if (attention != m.bias) {
    fields.refuse(attention ? "attention_bias" : "mlp_bias",
                  "biases on attention alone or on the MLP alone are not modelled",
                  "set attention_bias and mlp_bias alike");
  }
  return m;
}

Model read_mistral(HfFields& fields) {
  Model m = llama_shape(fields);
  m.kv_heads = fields.count("num_key_value_heads");
  m.head_dim = head_dim_of(fields, m);
  m.sliding_window = fields.optional_count("sliding_window");
  return m;
}

/// Qwen's window applies only when switched on, and then not to the first `max_window_layers`
/// (transformers configuration_qwen2.py, layer_types).
void read_partial_window(HfFields& fields, Model& m) {
  if (!fields.flag("use_sliding_window", false)) return;
  m.sliding_window = fields.count("sliding_window");
  const std::int64_t full = fields.count_or_zero("max_window_layers", m.layers);
  for (std::int64_t layer = 0; layer < m.layers; ++layer)
    m.layer_pattern.push_back(layer < full ? LayerAttention::full : LayerAttention::local);
}

Model read_qwen2(HfFields& fields) {
  Model m = llama_shape(fields);
  m.kv_heads = fields.count("num_key_value_heads");
  m.head_dim = head_dim_of(fields, m);
  m.qkv_bias = true;
  read_partial_window(fields, m);
  return m;
}

Model read_qwen3(HfFields& fields) {
  Model m = llama_shape(fields);
  m.kv_heads = fields.count("num_key_value_heads");
  m.head_dim = fields.count("head_dim");
  m.qk_norm = true;
  if (fields.flag("attention_bias", false)) {
    fields.refuse("attention_bias", "biases on attention alone are not modelled");
  }
  read_partial_window(fields, m);
  return m;
}

Model read_qwen3_moe(HfFields& fields) {
  Model m = read_qwen3(fields);
  m.moe = MoeShape{.experts = fields.count("num_experts"),
                   .top_k = fields.count("num_experts_per_tok"),
                   .ffn = fields.count("moe_intermediate_size")};
  if (fields.count_or("decoder_sparse_step", 1) != 1) {
    fields.refuse("decoder_sparse_step", "only 1 is modelled: experts in every layer");
  }
  if (fields.elements("mlp_only_layers") > 0) {
    fields.refuse("mlp_only_layers", "only an empty list is modelled: experts in every layer");
  }
  return m;
}

Model read_mixtral(HfFields& fields) {
  Model m = read_mistral(fields);
  m.moe = MoeShape{.experts = fields.count({"num_local_experts", "num_experts"}),
                   .top_k = fields.count("num_experts_per_tok"),
                   .ffn = m.ffn};
  return m;
}

Model deepseek_shape(HfFields& fields) {
  Model m = llama_shape(fields);
  m.mla = MlaShape{.q_lora_rank = fields.count_or_zero("q_lora_rank", 0),
                   .kv_lora_rank = fields.count("kv_lora_rank"),
                   .qk_nope_head_dim = fields.count("qk_nope_head_dim"),
                   .qk_rope_head_dim = fields.count("qk_rope_head_dim"),
                   .v_head_dim = fields.count("v_head_dim")};
  m.kv_heads = m.heads;  // every head has its own up-projection of the shared latent
  m.head_dim = m.mla->v_head_dim;
  m.moe = MoeShape{.experts = fields.count("n_routed_experts"),
                   .top_k = fields.count("num_experts_per_tok"),
                   .ffn = fields.count("moe_intermediate_size"),
                   .shared_experts = fields.count_or_zero("n_shared_experts", 0),
                   .dense_layers = fields.count_or_zero("first_k_dense_replace", 0),
                   .every = fields.count_or("moe_layer_freq", 1)};
  return m;
}

Model read_deepseek_v3(HfFields& fields) {
  Model m = deepseek_shape(fields);
  m.moe->router_bias = true;
  m.mtp_layers = fields.count_or_zero("num_nextn_predict_layers", 0);
  return m;
}

constexpr HfFamily kFamilies[] = {
    {"bloom", "ALiBi, LayerNorm after the embedding, GELU, biases, tied", read_bloom},
    {"deepseek_v2", "MLA, experts with shared ones, RMSNorm, SwiGLU", deepseek_shape},
    {"deepseek_v3", "as deepseek_v2, a selection bias per expert, prediction modules",
     read_deepseek_v3},
    {"gpt2", "learned positions, LayerNorm, GELU, biases, tied", read_gpt2},
    {"llama", "RMSNorm, SwiGLU, RoPE, grouped queries", read_llama},
    {"mistral", "as llama, sliding window", read_mistral},
    {"mixtral", "as mistral, experts in every layer", read_mixtral},
    {"qwen2", "as llama, bias on qkv", read_qwen2},
    {"qwen3", "as llama, RMSNorm on q and k", read_qwen3},
    {"qwen3_moe", "as qwen3, experts in every layer", read_qwen3_moe},
};

}  // namespace

std::span<const HfFamily> hf_families() {
  return kFamilies;
}

}  // namespace windtunnel
