#pragma once
// FLOPs of a model: what one token costs, part by part, and the conventions MFU and HFU are quoted
// in.
//
// Symbols: s sequence, h hidden, q = a d query width, kv = k d key/value width, f feed-forward
// width, V vocabulary rows, L layers. One multiply-add is 2 FLOPs; norms, softmax and elementwise
// work count nothing. Forward of one layer and one token:
//
//   qkv 2 h (q + 2 kv), core attention 4 s q (2 s q when the causal half counts), proj 2 q h,
//   MLP 4 h f, or 6 h f when gated; head 2 h V
//   MLA core attention 2 s a (d_qk + d_v); MoE 2 h E for the router plus top_k + shared experts
//
// Backward is twice the forward (gemm.h). A *convention* is a rule that turns a model and a
// sequence length into training FLOPs per token; two MFU figures compare only under one convention,
// so it is always named. Multi-token prediction modules are not counted.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/units.h"
#include "models/architectures/model.h"

namespace windtunnel {

/// Which keys a query is charged for: all s of them, or the s/2 a causal mask leaves on average.
enum class AttentionSpan : std::uint8_t { full, causal };

struct FlopQuery {
  std::int64_t sequence = 0;
  std::optional<std::int64_t> vocab_rows = {};  // default: vocab_rows_of(model)
};

/// Forward FLOPs of one layer for one token.
struct LayerFlops {
  Flops qkv, core_attention, proj, router, mlp;  // mlp: every expert a token visits

  Flops matrix_products() const { return qkv + proj + router + mlp; }
  Flops total() const { return matrix_products() + core_attention; }
};

/// With a sliding window w < s a query sees w keys (full), or w - w^2 / 2s on average (causal).
LayerFlops layer_forward_flops(const Model& model, std::int64_t layer, std::int64_t sequence,
                               AttentionSpan span);

/// Sum over the layers.
LayerFlops layers_forward_flops(const Model& model, std::int64_t sequence, AttentionSpan span);

/// Head product of one token.
Flops head_forward_flops(const Model& model, std::optional<std::int64_t> vocab_rows = std::nullopt);

/// Layers and head of one token.
Flops forward_flops(const Model& model, const FlopQuery& query, AttentionSpan span);

/// A named rule for training FLOPs per token.
struct FlopConvention {
  const char* name;
  const char* doc;  // formula and source
  Flops (*per_token)(const Model& model, const FlopQuery& query);
};

std::span<const FlopConvention> flop_conventions();

/// nullptr when there is none of that name.
const FlopConvention* find_flop_convention(std::string_view name);

/// PaLM's rule for a model known by its size: 6 N + 12 L (a d) s (arXiv:2204.02311, appendix B).
struct PalmShape {
  double parameters = 0.0;
  std::int64_t layers = 0, heads = 0, head_dim = 0;
};
Flops palm_flops_per_token(const PalmShape& shape, std::int64_t sequence);

/// What the backward pass runs a second time. The head and the embedding are never recomputed.
enum class Recomputed : std::uint8_t { nothing, core_attention, layers };

/// How core attention runs backward: a flash kernel redoes the score product, so it executes 5
/// products where the forward has 2 (arXiv:2205.14135, section 3 and appendix B); otherwise 4.
enum class AttentionBackward : std::uint8_t { stored_scores, flash };
constexpr double kFlashBackwardFactor = 2.5;

constexpr double backward_factor(AttentionBackward kind) {
  return kind == AttentionBackward::flash ? kFlashBackwardFactor : 2.0;
}

/// What a device executes, for HFU.
struct ExecutedQuery {
  FlopQuery flops = {};
  AttentionSpan span = AttentionSpan::full;
  Recomputed recomputed = Recomputed::nothing;
  AttentionBackward backward = AttentionBackward::stored_scores;
};

/// Forward FLOPs per token that recomputation runs again.
Flops recompute_flops_per_token(const Model& model, const ExecutedQuery& query);

/// Forward, backward and recomputation per token.
Flops executed_flops_per_token(const Model& model, const ExecutedQuery& query);

/// FLOPs done in `time` over what `peak` could have done: MFU or HFU by what is counted.
double flops_utilization(Flops done, Seconds time, FlopsPerSecond peak);

}  // namespace windtunnel
