#include "models/architectures/flops.h"

#include <algorithm>

#include "models/architectures/attention_window.h"
#include "models/architectures/gemm.h"
#include "models/architectures/parameters.h"

namespace windtunnel {
namespace {

double number(std::int64_t n) {
  return static_cast<double>(n);
}

/// Keys one query is charged for, on average over the sequence.
double keys_per_query(std::int64_t sequence, std::int64_t window, AttentionSpan span) {
  if (sequence == 0) return 0.0;
  if (span == AttentionSpan::full) return number(window > 0 ? window : sequence);
  return causal_pairs(number(sequence), number(window)) / number(sequence);
}

/// Width of scores and of context together, summed over heads: 2 q, or a (d_qk + d_v) with MLA.
double core_attention_width(const Model& model) {
  if (!model.mla) return 2.0 * number(model.query_width());
  const MlaShape& mla = *model.mla;
  return number(model.heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim + mla.v_head_dim));
}

/// Forward FLOPs of the weight matrices named by `wanted`, per token.
template <class Predicate>
Flops matrix_flops(const std::vector<Tensor>& tensors, Predicate wanted) {
  Flops sum;
  for (const Tensor& t : tensors) {
    if (t.cols > 1 && wanted(std::string_view(t.name))) {
      sum += number(t.active) * gemm_flops({.m = 1, .k = t.cols, .n = t.rows});
    }
  }
  return sum;
}

bool is_mlp(std::string_view name) {
  return name.find("fc1.") != name.npos || name.find("fc2.") != name.npos;
}

// --- conventions -------------------------------------------------------------------------------

Flops six_n(const Model& model, const FlopQuery& query) {
  return {6.0 * number(count_parameters(model, query.vocab_rows).active())};
}

Flops palm(const Model& model, const FlopQuery& query) {
  return six_n(model, query) +
         Flops{6.0 * number(model.layers) * core_attention_width(model) * number(query.sequence)};
}

Flops torchtitan(const Model& model, const FlopQuery& query) {
  const std::int64_t rows = query.vocab_rows.value_or(vocab_rows_of(model));
  const ParameterCount count = count_parameters(model, rows);
  // A tied head still multiplies: its rows stay in, the look-up goes out.
  const std::int64_t head = rows * model.hidden;
  const std::int64_t used = count.active() - count.embedding - count.head + head;
  return {6.0 * number(used) +
          6.0 * number(model.layers) * core_attention_width(model) * number(query.sequence)};
}

Flops megatron_paper(const Model& model, const FlopQuery& query, double factor,
                     double head_divisor) {
  const double l = number(model.layers), h = number(model.hidden), s = number(query.sequence);
  const double v = number(query.vocab_rows.value_or(vocab_rows_of(model)));
  return {factor * l * h * h * (1.0 + s / (6.0 * h) + v / (head_divisor * l * h))};
}

Flops megatron_2021(const Model& model, const FlopQuery& query) {
  return megatron_paper(model, query, 72.0, 12.0);
}

Flops megatron_2021_recompute(const Model& model, const FlopQuery& query) {
  return megatron_paper(model, query, 96.0, 16.0);
}

Flops megatron(const Model& model, const FlopQuery& query) {
  return (1.0 + kGemmBackwardFactor) * forward_flops(model, query, AttentionSpan::causal);
}

Flops megatron_unhalved(const Model& model, const FlopQuery& query) {
  return (1.0 + kGemmBackwardFactor) * forward_flops(model, query, AttentionSpan::full);
}

constexpr FlopConvention kConventions[] = {
    {"6N", "6 N, N every parameter a token passes (Kaplan et al., arXiv:2001.08361)", six_n},
    {"palm",
     "6 N + 12 L a d s: attention not halved, recomputation not counted (arXiv:2204.02311, "
     "appendix B)",
     palm},
    {"torchtitan",
     "6 (N - N_embedding) + 6 L a (d_qk + d_v) s, not halved (pytorch/torchtitan b5bcd76c "
     "models/utils.py)",
     torchtitan},
    {"megatron_2021",
     "72 L h^2 (1 + s/6h + V/12Lh): the published form without recomputation, for f = 4h and "
     "one key per query head (arXiv:2205.05198, appendix A)",
     megatron_2021},
    {"megatron_2021_recompute",
     "96 L h^2 (1 + s/6h + V/16Lh): every layer's forward counted twice (arXiv:2104.04473, "
     "section 5.1)",
     megatron_2021_recompute},
    {"megatron",
     "3 (L (2h(q + 2kv) + 2qh + 4hf or 6hf + 2 s q) + 2hV): causal half of attention "
     "(NVIDIA/Megatron-LM d98e8a64 training.py num_floating_point_operations)",
     megatron},
    {"megatron_unhalved", "as megatron, with all of attention: 4 s q", megatron_unhalved},
};

}  // namespace

LayerFlops layer_forward_flops(const Model& model, std::int64_t layer, std::int64_t sequence,
                               AttentionSpan span) {
  const std::vector<Tensor> tensors = layer_tensors(model, layer);
  LayerFlops flops;
  flops.router = matrix_flops(tensors, [](auto name) { return name.starts_with("router."); });
  flops.proj = matrix_flops(tensors, [](auto name) { return name.starts_with("proj."); });
  flops.mlp = matrix_flops(tensors, is_mlp);
  flops.qkv = matrix_flops(tensors, [](auto name) {
    return !name.starts_with("router.") && !name.starts_with("proj.") && !is_mlp(name);
  });
  flops.core_attention = {2.0 * core_attention_width(model) *
                          keys_per_query(sequence, attention_window(model, layer, sequence), span)};
  return flops;
}

LayerFlops layers_forward_flops(const Model& model, std::int64_t sequence, AttentionSpan span) {
  LayerFlops sum;
  for (const LayerKind& kind : layer_kinds(model)) {
    const LayerFlops one = layer_forward_flops(model, kind.layer, sequence, span);
    const double count = number(kind.count);
    sum.qkv += count * one.qkv;
    sum.proj += count * one.proj;
    sum.router += count * one.router;
    sum.mlp += count * one.mlp;
  }
  // Layers alike in their weights may see different keys.
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::int64_t window = attention_window(model, layer, sequence);
    sum.core_attention +=
        Flops{2.0 * core_attention_width(model) * keys_per_query(sequence, window, span)};
  }
  return sum;
}

Flops head_forward_flops(const Model& model, std::optional<std::int64_t> vocab_rows) {
  return gemm_flops({.m = 1, .k = model.hidden, .n = vocab_rows.value_or(vocab_rows_of(model))});
}

Flops forward_flops(const Model& model, const FlopQuery& query, AttentionSpan span) {
  return layers_forward_flops(model, query.sequence, span).total() +
         head_forward_flops(model, query.vocab_rows);
}

std::span<const FlopConvention> flop_conventions() {
  return kConventions;
}

const FlopConvention* find_flop_convention(std::string_view name) {
  const auto* row = std::ranges::find(kConventions, name, &FlopConvention::name);
  return row == std::end(kConventions) ? nullptr : row;
}

Flops palm_flops_per_token(const PalmShape& shape, std::int64_t sequence) {
  return {6.0 * shape.parameters + 12.0 * number(shape.layers) * number(shape.heads) *
                                       number(shape.head_dim) * number(sequence)};
}

Flops recompute_flops_per_token(const Model& model, const ExecutedQuery& query) {
  const LayerFlops layers = layers_forward_flops(model, query.flops.sequence, query.span);
  switch (query.recomputed) {
    case Recomputed::nothing:
      return {};
    case Recomputed::core_attention:
      return layers.core_attention;
    case Recomputed::layers:
      return layers.total();
  }
  return {};
}

Flops executed_flops_per_token(const Model& model, const ExecutedQuery& query) {
  const LayerFlops layers = layers_forward_flops(model, query.flops.sequence, query.span);
  const Flops products =
      layers.matrix_products() + head_forward_flops(model, query.flops.vocab_rows);
  return (1.0 + kGemmBackwardFactor) * products +
         (1.0 + backward_factor(query.backward)) * layers.core_attention +
         recompute_flops_per_token(model, query);
}

double flops_utilization(Flops done, Seconds time, FlopsPerSecond peak) {
  return (done / time).value / peak.value;
}

}  // namespace windtunnel
