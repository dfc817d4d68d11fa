#include "models/architectures/model_problems.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/architectures/parameters.h"

namespace windtunnel {
namespace {

using Problems = std::vector<ModelProblem>;

struct Range {
  const char* field;
  std::int64_t value, low, high;
};

void check_range(Problems& problems, const Range& r) {
  if (r.value >= r.low && r.value <= r.high) return;
  problems.push_back({.field = r.field,
                      .message = fmt::format("`{}` is {}, allowed are {} to {}", r.field, r.value,
                                             r.low, r.high)});
}

void check_moe(Problems& problems, const Model& m) {
  const MoeShape& moe = *m.moe;
  check_range(problems, {"moe.experts", moe.experts, 1, kMaxExperts});
  check_range(problems, {"moe.top_k", moe.top_k, 1, std::max<std::int64_t>(moe.experts, 1)});
  check_range(problems, {"moe.ffn", moe.ffn, 1, kMaxWidth});
  check_range(problems, {"moe.shared_experts", moe.shared_experts, 0, kMaxExperts});
  check_range(problems, {"moe.dense_layers", moe.dense_layers, 0, kMaxLayers});
  check_range(problems, {"moe.every", moe.every, 1, kMaxLayers});
  if (moe.dense_layers > m.layers) {
    problems.push_back({.field = "moe.dense_layers",
                        .message = fmt::format("`moe.dense_layers` is {}, more than the {} layers",
                                               moe.dense_layers, m.layers)});
  }
}

void check_mla(Problems& problems, const MlaShape& mla) {
  check_range(problems, {"mla.q_lora_rank", mla.q_lora_rank, 0, kMaxWidth});
  check_range(problems, {"mla.kv_lora_rank", mla.kv_lora_rank, 1, kMaxWidth});
  check_range(problems, {"mla.qk_nope_head_dim", mla.qk_nope_head_dim, 1, kMaxWidth});
  check_range(problems, {"mla.qk_rope_head_dim", mla.qk_rope_head_dim, 1, kMaxWidth});
  check_range(problems, {"mla.v_head_dim", mla.v_head_dim, 1, kMaxWidth});
}

void check_pattern(Problems& problems, const Model& m) {
  const bool local = std::find(m.layer_pattern.begin(), m.layer_pattern.end(),
                               LayerAttention::local) != m.layer_pattern.end();
  if (local && !m.sliding_window)
    problems.push_back({.field = "layer_pattern",
                        .message = "`layer_pattern` has local layers: `sliding_window` says how "
                                   "many tokens they see"});
}

void check_ranges(Problems& problems, const Model& m) {
  check_range(problems, {"layers", m.layers, 1, kMaxLayers});
  check_range(problems, {"hidden", m.hidden, 1, kMaxWidth});
  check_range(problems, {"ffn", m.ffn, 1, kMaxWidth});
  check_range(problems, {"heads", m.heads, 1, kMaxHeads});
  check_range(problems, {"kv_heads", m.kv_heads, 1, kMaxHeads});
  check_range(problems, {"head_dim", m.head_dim, 1, kMaxWidth});
  check_range(problems, {"vocab", m.vocab, 1, kMaxRows});
  check_range(problems, {"max_positions", m.max_positions, 0, kMaxRows});
  check_range(problems, {"mtp_layers", m.mtp_layers, 0, kMaxLayers});
  if (m.vocab_padded_to) {
    check_range(problems, {"vocab_padded_to", *m.vocab_padded_to, m.vocab, kMaxRows});
  }
  if (m.sliding_window) {
    check_range(problems, {"sliding_window", *m.sliding_window, 1, kMaxRows});
  }
  check_pattern(problems, m);
  if (m.mla) check_mla(problems, *m.mla);
  if (m.moe) check_moe(problems, m);
}

/// Parameters as a double, which cannot overflow.
double parameter_estimate(const Model& m) {
  double count = static_cast<double>(m.hidden) * (2.0 * static_cast<double>(vocab_rows_of(m)) +
                                                  static_cast<double>(m.max_positions));
  for (const LayerKind& kind : layer_kinds(m)) {
    for (const Tensor& t : layer_tensors(m, kind.layer)) {
      count += static_cast<double>(t.rows) * static_cast<double>(t.cols) *
               static_cast<double>(t.copies) * static_cast<double>(kind.count + m.mtp_layers);
    }
  }
  return count;
}

}  // namespace

std::vector<ModelProblem> model_problems(const Model& model) {
  Problems problems;
  check_ranges(problems, model);
  if (!problems.empty()) return problems;
  if (model.heads % model.kv_heads != 0) {
    problems.push_back({.field = "kv_heads",
                        .message = fmt::format("`heads` {} is not a multiple of `kv_heads` {}",
                                               model.heads, model.kv_heads)});
  }
  if (const double count = parameter_estimate(model); count > kMaxParameters) {
    problems.push_back({.field = "",
                        .message = fmt::format("the model has about {:.1e} parameters, more than "
                                               "the {:.0e} that can be counted",
                                               count, kMaxParameters)});
  }
  return problems;
}

}  // namespace windtunnel
