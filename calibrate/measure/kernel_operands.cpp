#include "calibrate/measure/kernel_operands.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "kernels/reference/elementwise.h"

namespace windtunnel {

namespace {

using Operands = std::vector<KernelOperand>;

KernelOperand positive(std::int64_t elements) {
  return {elements, Content::positive};
}
KernelOperand tokens(std::int64_t elements) {
  return {elements, Content::tokens};
}
KernelOperand choices(std::int64_t elements, std::int64_t below) {
  return {.elements = elements, .content = Content::choices, .below = below};
}
KernelOperand in_place(std::int64_t elements, int same_as) {
  return {.elements = elements, .same_as = same_as};
}

KernelOperands with(Operands inputs, const Operands& outputs) {
  KernelOperands result{.all = std::move(inputs)};
  result.inputs = static_cast<int>(result.all.size());
  result.all.insert(result.all.end(), outputs.begin(), outputs.end());
  return result;
}

bool has(const Shape& s, ShapeAttr attr) {
  return (s.attr & attr) != 0;
}

KernelOperands of_ends(const Shape& s) {
  const std::int64_t t = s.dims[0], h = s.dims[1], n = t * h;
  switch (s.kernel) {
    case Kernel::load_tokens:
    case Kernel::load_labels:
      return with({}, {tokens(t)});
    case Kernel::embedding_fwd:
      return with({tokens(t), {s.dims[2] * h}}, {{n}});
    case Kernel::embedding_bwd:
      return with({tokens(t), {n}}, {{s.dims[2] * h}});
    default:
      break;
  }
  const std::int64_t positions = (t - 1) / std::max<std::int64_t>(1, s.dims[2]) + 1;
  if (s.kernel == Kernel::position_fwd) return with({{n}, {positions * h}}, {in_place(n, 0)});
  return with({{n}}, {{positions * h}});
}

KernelOperands of_norm(const Shape& s) {
  const std::int64_t t = s.dims[0], h = s.dims[1], n = t * h;
  switch (s.kernel) {
    case Kernel::layernorm_fwd:
      return with({{n}, {h}, {h}}, {{n}, {2 * t}});
    case Kernel::rmsnorm_fwd:
      return with({{n}, {h}}, {{n}, {t}});
    case Kernel::layernorm_bwd:
      if (has(s, kInputGradOnly)) return with({{n}, {n}, {h}, positive(2 * t)}, {{n}});
      return with({{n}, {n}, {h}, positive(2 * t)}, {{n}, {h}, {h}});
    default:
      if (has(s, kInputGradOnly)) return with({{n}, {n}, {h}, positive(t)}, {{n}});
      return with({{n}, {n}, {h}, positive(t)}, {{n}, {h}});
  }
}

KernelOperands of_gemm(const Shape& s) {
  const std::int64_t m = s.dims[0], n = s.dims[1], k = s.dims[2], row = s.dims[4];
  switch (s.kernel) {
    case Kernel::gemm_fwd: {
      Operands inputs = {{m * k}, {n * k}};
      if (has(s, kHasBias)) inputs.push_back({n});
      return with(std::move(inputs), {{m * n}});
    }
    case Kernel::gemm_dgrad:
      return with({{m * (row > 0 ? row : n)}, {n * k}}, {{m * k}});
    case Kernel::gemm_wgrad:
      return with({{m * n}, {m * k}}, {{n * k}});
    default:
      return with({{m * n}}, {{n}});  // bias_bwd
  }
}

KernelOperands of_grouped(const Shape& s) {
  const std::int64_t a = s.dims[3] * s.dims[0] * s.dims[2], w = s.dims[3] * s.dims[1] * s.dims[2],
                     c = s.dims[3] * s.dims[0] * s.dims[1];
  if (s.kernel == Kernel::grouped_fwd) return with({{a}, {w}}, {{c}});
  if (s.kernel == Kernel::grouped_dgrad) return with({{c}, {w}}, {{a}});
  return with({{c}, {a}}, {{w}});
}

KernelOperands of_rope(const Shape& s) {
  const std::int64_t t = s.dims[0];
  if (s.kernel == Kernel::rope_fwd || s.kernel == Kernel::rope_bwd) {
    const std::int64_t n = t * (s.dims[1] + 2 * s.dims[2]) * s.dims[3];
    return with({{n}}, {in_place(n, 0)});
  }
  const std::int64_t a = s.dims[1], nope = s.dims[2], rope = s.dims[3], v = s.dims[4];
  const std::int64_t q = t * a * (nope + rope), kv = t * a * (nope + v), shared = t * rope;
  if (s.kernel == Kernel::latent_heads_fwd)
    return with({{q}, {kv}, {shared}}, {{2 * q + t * a * v}});
  return with({{2 * q + t * a * v}}, {{q}, {kv}, {shared}});
}

KernelOperands of_attention(const Shape& s) {
  const std::int64_t micro = s.dims[0], seq = s.dims[1], a = s.dims[2], k = s.dims[3],
                     d = s.dims[4];
  const bool flash = s.kernel == Kernel::flash_fwd || s.kernel == Kernel::flash_bwd;
  const std::int64_t v = flash && s.dims[5] > 0 ? s.dims[5] : d;
  const std::int64_t t = micro * seq, qkv = t * ((a + k) * d + k * v), out = t * a * v;
  const std::int64_t scores = micro * a * seq * seq;
  switch (s.kernel) {
    case Kernel::flash_fwd:
      return with({{qkv}}, {{out}, {t * a}});
    case Kernel::flash_bwd:
      return with({{out}, {qkv}, {out}, positive(t * a)}, {{qkv}});
    case Kernel::scores_fwd:
      return with({{qkv}}, {{scores}});
    case Kernel::softmax_fwd:
      return with({{scores}}, {{scores}});
    case Kernel::context_fwd:
      return with({positive(scores), {qkv}}, {{out}});
    case Kernel::context_bwd:
      return with({{out}, positive(scores), {qkv}}, {{scores}, {qkv}});
    case Kernel::softmax_bwd:
      return with({{scores}, positive(scores)}, {{scores}});
    default:
      return with({{scores}, {qkv}}, {{qkv}});  // scores_bwd
  }
}

KernelOperands of_blocks(const Shape& s) {
  const std::int64_t* d = s.dims.data();
  const std::int64_t v = d[6] > 0 ? d[6] : d[4], t = d[0] * d[1];
  const std::int64_t query = t * d[2] * d[4], out = t * d[2] * v, keys = d[3] * (d[4] + v);
  const std::int64_t qkv = query + t * keys;
  const std::int64_t kv = d[0] * (has(s, kWholeKeys) ? d[5] : d[1]) * keys;
  switch (s.kernel) {
    case Kernel::flash_block_fwd:
      return with({{qkv}, {kv}}, {{out}, {t * d[2]}});
    case Kernel::flash_block_bwd:
      return with({{out}, {qkv}, {kv}, {out}, positive(t * d[2])}, {{query}, {kv}});
    case Kernel::merge_attention:
      return with({{d[0] * d[1] * d[2]}, positive(d[0] * d[1])},
                  {{d[0] * d[1] * d[2]}, positive(d[0] * d[1])});
    case Kernel::columns_to_blocks:
      return with({{d[0] * d[1]}}, {{d[0] * d[2]}});
    case Kernel::sequence_to_rows:
      return with({{d[4] * d[0] * d[1]}}, {{d[4] * d[0] * d[2]}});
    case Kernel::rows_to_sequence:
      return with({{d[2] * d[0] * d[1]}}, {{d[2] * d[0] * d[1]}});
    default:
      return with({{d[0] * d[1]}}, {{d[0] * d[1]}});  // blocks_to_columns
  }
}

/// Columns of an activation's input per column of its output.
std::int64_t input_width(const Shape& s) {
  return reference::is_gated(static_cast<reference::ActivationKind>(s.dims[2])) ? 2 : 1;
}

KernelOperands of_rows(const Shape& s) {
  const std::int64_t n = s.dims[0] * s.dims[1];
  switch (s.kernel) {
    case Kernel::activation_fwd:
      return with({{input_width(s) * n}}, {{n}});
    case Kernel::activation_bwd:
      return with({{n}, {input_width(s) * n}}, {{input_width(s) * n}});
    case Kernel::dropout_fwd:
      return with({{n}}, {{n}, {n, Content::mask}});
    case Kernel::dropout_bwd:
      return with({{n}, {n, Content::mask}}, {{n}});
    default:
      break;
  }
  Operands inputs = {{n}, {n}};
  if (has(s, kHasBias)) inputs.push_back({s.dims[1]});
  Operands outputs = {{n}};
  if (s.kernel == Kernel::dropout_add) outputs.push_back({n, Content::mask});
  return with(std::move(inputs), outputs);
}

KernelOperands of_experts(const Shape& s) {
  const std::int64_t t = s.dims[0], k = s.dims[2], tokens_h = t * s.dims[1];
  const std::int64_t permuted = s.dims[3] * s.dims[1];
  switch (s.kernel) {
    case Kernel::route_fwd:
      return with({{tokens_h}}, {{t * k}, choices(t * k, s.dims[3]), {s.dims[4] * s.dims[1]}});
    case Kernel::route_bwd:
      return with({{t * k}, {tokens_h}, choices(t * k, s.dims[1] * s.dims[3] * s.dims[4])},
                  {{tokens_h}});
    case Kernel::permute_fwd:
      return with({{tokens_h}, choices(t * k, s.dims[3])}, {{permuted}});
    case Kernel::permute_bwd:
      return with({{permuted}, choices(t * k, s.dims[3])}, {{tokens_h}});
    case Kernel::unpermute_fwd:
      return with({{permuted}, {t * k}, choices(t * k, s.dims[3])}, {{tokens_h}});
    case Kernel::unpermute_bwd:
      return with({{tokens_h}, {permuted}, {t * k}, choices(t * k, s.dims[3])},
                  {{permuted}, {t * k}});
    case Kernel::spread_fwd:
      return with({{t * k}, choices(t * k, s.dims[3])}, {{s.dims[3]}});
    case Kernel::spread_bwd:
      return with({{s.dims[3]}, choices(t * k, s.dims[3])}, {{t * k}});
    case Kernel::weighted_activation_fwd:
      return with({{input_width(s) * tokens_h}, {t}}, {{tokens_h}});
    case Kernel::weighted_activation_bwd:
      return with({{tokens_h}, {input_width(s) * tokens_h}, {t}},
                  {{input_width(s) * tokens_h}, {t}});
    case Kernel::pad_groups: {
      const std::int64_t of_row = s.dims[0] * s.dims[3];
      return with({{of_row * s.dims[1]}}, {{of_row * s.dims[2]}});
    }
    default: {
      const std::int64_t n = s.dims[0] * s.dims[1] * s.dims[2];  // swap_chunks
      return with({{n}}, {{n}});
    }
  }
}

KernelOperands of_flat(const Shape& s) {
  const std::int64_t n = s.dims[0];
  switch (s.kernel) {
    case Kernel::add:
      return with({{n}, {n}}, {{n}});
    case Kernel::zero:
      return with({}, {{n}});
    case Kernel::scale: {
      KernelOperands result = with({{n}}, {in_place(n, 0)});
      result.decays = true;
      return result;
    }
    case Kernel::accumulate:
      return with({{n}}, {{n}});
    case Kernel::amax:
      return with({{n}}, {{s.dims[1]}});
    default:
      return with({{n}}, {{n}});  // cast, copy
  }
}

KernelOperands of_loss(const Shape& s) {
  const std::int64_t t = s.dims[0];
  const std::int64_t n = t * s.dims[1] * std::max<std::int64_t>(1, s.dims[3]);
  switch (s.kernel) {
    case Kernel::ce_max:
      return with({{n}}, {{t}});
    case Kernel::ce_partial:
      return with({{n}, tokens(t), positive(t)}, {{n}, {t}, {t}});
    case Kernel::ce_loss:
      return with({{t}, positive(t)}, {{1}});
    case Kernel::ce_sums:
      return with({{n}, tokens(t), positive(t)}, {{t}, {t}});
    case Kernel::ce_grad:
      return with({{n}, tokens(t), positive(t), positive(t)}, {{n}});
    default:
      return with({positive(n), positive(t), tokens(t)}, {{n}});  // ce_bwd
  }
}

KernelOperands of_optimizer(const Shape& s) {
  const std::int64_t n = s.dims[0];
  switch (s.kernel) {
    case Kernel::sum_squares:
      return with({{n}}, {{1}});
    case Kernel::clip_coefficient:
      return with({positive(1)}, {{1}});
    case Kernel::start_loss_scale:
      return with({}, {{4}});
    case Kernel::unscale:
      return with({{n}, positive(4)}, {in_place(n, 0), positive(1)});
    case Kernel::update_loss_scale:
      return with({positive(1)}, {positive(4)});
    case Kernel::adamw:
      return with({{n}, positive(1)}, {{n}, {n}, positive(n), in_place(n, 2)});
    default:
      return with({{n}, positive(1)}, {{n}, in_place(n, 2)});  // sgd
  }
}

/// The first kernel of a stretch of the enum, and who knows its operands.
struct Stretch {
  Kernel first;
  KernelOperands (*operands)(const Shape&);
};
constexpr Stretch kStretches[] = {{Kernel::load_tokens, of_ends},
                                  {Kernel::layernorm_fwd, of_norm},
                                  {Kernel::gemm_fwd, of_gemm},
                                  {Kernel::grouped_fwd, of_grouped},
                                  {Kernel::rope_fwd, of_rope},
                                  {Kernel::flash_fwd, of_attention},
                                  {Kernel::flash_block_fwd, of_blocks},
                                  {Kernel::activation_fwd, of_rows},
                                  {Kernel::add, of_flat},
                                  {Kernel::route_fwd, of_experts},
                                  {Kernel::ce_max, of_loss},
                                  {Kernel::sum_squares, of_optimizer}};

KernelOperands laid_out(const Shape& shape) {
  const Stretch* found = kStretches;
  for (const Stretch& s : kStretches) {
    if (s.first <= shape.kernel) found = &s;
  }
  return found->operands(shape);
}

}  // namespace

KernelOperands operands_of(const Shape& shape) {
  const KernelClass cls = row_of(shape.kernel).cls;
  CHECK(cls != KernelClass::host && cls != KernelClass::none, "a device kernel has operands");
  KernelOperands operands = laid_out(shape);
  const bool of_optimizer = shape.kernel >= Kernel::sum_squares;
  if (operands.inputs > 0 && !of_optimizer) operands.all.front().touched = Touched::recent;
  return operands;
}

}  // namespace windtunnel
