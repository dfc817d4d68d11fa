#pragma once
// Parameters of a model, tensor by tensor, exact.
//
// Every count follows from the shapes: a matrix that maps `cols` inputs to `rows` outputs has
// rows * cols weights, a bias or a norm weight has one column. h hidden, f feed-forward width, a
// query heads, k key/value heads, d head dim, V vocabulary rows, E experts.
//
//   attention    qkv (a d + 2 k d, h), proj (h, a d)
//   MLA          q_down (r_q, h), q_up (a (d_nope + d_rope), r_q), kv_down (r_kv + d_rope, h),
//                kv_up (a (d_nope + d_v), r_kv), proj (h, a d_v); a norm on each compressed vector
//                (DeepSeek-V2, arXiv:2405.04434, section 2.1; V3, arXiv:2412.19437)
//   MLP          fc1 (f, h) or gate and up together (2f, h), fc2 (h, f)
//   MoE          router (E, h), E times an MLP of moe.ffn, one shared MLP of width
//                shared_experts * moe.ffn
//   norms        one or two tensors of h each (RMSNorm: weight; LayerNorm: weight and bias); two
//                per layer, one when `parallel_block`, one after the last layer
//
// Tied embeddings count once. Preconditions: the model passed `model_problems()`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/architectures/model.h"

namespace windtunnel {

/// One weight tensor; expert tensors exist `copies` times.
struct Tensor {
  std::string name;  // "qkv.weight", "experts.fc1.weight"
  std::int64_t rows = 0, cols = 1;
  std::int64_t copies = 1;  // experts that hold one each
  std::int64_t active = 1;  // of these, how many one token is multiplied with

  std::int64_t count() const { return rows * cols * copies; }
  std::int64_t active_count() const { return rows * cols * active; }
};

/// Parameters by part, in elements.
struct ParameterCount {
  std::int64_t embedding = 0;       // (V, h)
  std::int64_t position = 0;        // (max_positions, h) of a learned table
  std::int64_t embedding_norm = 0;  // BLOOM
  std::int64_t layers = 0;          // all layers, all experts
  std::int64_t layers_active = 0;   // what one token passes through
  std::int64_t final_norm = 0;
  std::int64_t head = 0;  // (V, h); 0 when tied to the embedding
  std::int64_t mtp = 0;   // multi-token prediction modules: not part of total()

  std::int64_t outside_layers() const {
    return embedding + position + embedding_norm + final_norm + head;
  }
  std::int64_t total() const { return outside_layers() + layers; }
  /// With top_k of the experts; equals total() for a dense model.
  std::int64_t active() const { return outside_layers() + layers_active; }
};

/// Whether `layer` (from 0) has experts: layer >= dense_layers and layer % every == 0, DeepSeek's
/// rule (first_k_dense_replace, moe_layer_freq), and Megatron's when dense_layers is 0.
bool is_moe_layer(const Model& model, std::int64_t layer);

/// Layers with the same tensors: `layer` stands for `count` of them.
struct LayerKind {
  std::int64_t layer = 0, count = 0;
};

/// One or two kinds (dense, experts) that together are all layers.
std::vector<LayerKind> layer_kinds(const Model& model);

/// The tensors of one layer, in the order a token meets them.
std::vector<Tensor> layer_tensors(const Model& model, std::int64_t layer);

/// The tensors of one multi-token prediction module (DeepSeek-V3, section 2.2): two norms, the
/// projection (h, 2h), a layer of the last layer's kind, a final norm. Embedding and head are
/// shared with the main model.
std::vector<Tensor> mtp_tensors(const Model& model);

/// `vocab_rows`: rows of embedding and head when padded; by default `vocab_rows_of(model)`.
ParameterCount count_parameters(const Model& model,
                                std::optional<std::int64_t> vocab_rows = std::nullopt);

/// Vocabulary rows the model itself states: `vocab_padded_to`, else `vocab`. A framework's own
/// padding rule is the plan's business.
std::int64_t vocab_rows_of(const Model& model);

/// The least multiple of `multiple` that holds `vocab` rows.
std::int64_t padded_vocab(std::int64_t vocab, std::int64_t multiple);

}  // namespace windtunnel
