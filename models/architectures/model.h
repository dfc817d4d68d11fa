#pragma once
// A model is the neural network a scenario trains: the numbers that fix its layers.
//
// All counts are in elements. Derived values (kv_heads, head_dim) are already filled in by whoever
// builds a Model; `parameters.h` counts parameters and `flops.h` FLOPs from these fields.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace windtunnel {

enum class Activation : std::uint8_t { gelu, swiglu, geglu, relu2 };
enum class NormKind : std::uint8_t { layernorm, rmsnorm };
/// Which keys before it a query of a layer sees: all, or the nearest `sliding_window`.
enum class LayerAttention : std::uint8_t { full, local };
enum class PositionKind : std::uint8_t { learned, rope, alibi };

/// Multi-head latent attention (DeepSeek-V2/V3).
struct MlaShape {
  std::int64_t q_lora_rank = 0;
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
};

struct MoeShape {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::int64_t ffn = 0;             // hidden width of one expert
  std::int64_t shared_experts = 0;  // their width together = shared_experts * ffn
  std::int64_t dense_layers = 0;    // the first layers that keep a dense MLP
  std::int64_t every = 1;           // every n-th layer is MoE
  std::optional<double> capacity_factor = {};
  double imbalance = 1.0;    // max / mean load
  bool router_bias = false;  // one selection bias per expert (DeepSeek-V3, aux-loss free)
};

struct Model {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocab = 0;
  std::optional<std::int64_t> vocab_padded_to;  // nullopt: the framework's rule
  std::int64_t max_positions = 0;               // rows of a learned position table; 0: the sequence
  Activation activation = Activation::gelu;
  NormKind norm = NormKind::layernorm;
  PositionKind position = PositionKind::learned;
  bool tied_embeddings = false;
  bool bias = true;
  bool dropout = false;
  std::optional<std::int64_t> sliding_window;
  std::vector<LayerAttention> layer_pattern;  // in turn, over and over; empty: one kind
  bool parallel_block = false;
  std::optional<MlaShape> mla;
  std::optional<MoeShape> moe;
  std::int64_t mtp_layers = 0;
  bool qkv_bias = false;        // a bias on the qkv product alone (Qwen2); implied by `bias`
  bool qk_norm = false;         // RMSNorm over head_dim on q and on k (Qwen3)
  bool embedding_norm = false;  // LayerNorm after the word embedding (BLOOM)

  std::int64_t query_width() const { return heads * head_dim; }
  /// Whether the last stage reads the word embedding too: as the head, or to predict further
  /// tokens.
  bool ends_share_word_embedding() const { return tied_embeddings || mtp_layers > 0; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  bool gated() const { return activation == Activation::swiglu || activation == Activation::geglu; }
};

}  // namespace windtunnel
