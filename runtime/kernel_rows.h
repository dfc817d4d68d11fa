#pragma once
// Which function runs for each kernel of a program: one row per kernel, in the enum's
// order, that unpacks operands and sizes as `program/kernel.h` states them.

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/check.h"
#include "kernels/reference/elementwise.h"
#include "kernels/reference/embedding.h"
#include "kernels/reference/loss_scale.h"
#include "kernels/reference/optimizer.h"
#include "runtime/attention_rows.h"
#include "runtime/context_rows.h"
#include "runtime/execution.h"
#include "runtime/expert_rows.h"
#include "runtime/kernel_sets.h"
#include "runtime/loss_rows.h"
#include "runtime/param_map.h"
#include "runtime/row_operands.h"

namespace windtunnel {

template <class C>
using Run = void (*)(const C&);

namespace kernel_rows {

namespace ref = reference;

template <class C>
void load(const C& c, std::int64_t shift) {
  const std::int64_t t = c.dim(0);
  // Any fixed difference keeps tokens apart from weights of the same seed.
  constexpr std::uint64_t kTokens = 0x746f6b656e73;
  ref::load_tokens(
      {.seed = c.seed ^ kTokens, .vocab = c.program.job.vocab, .shift = shift + c.dim(2)},
      c.rows(c.dim(1), t), t, c.tokens_out(0, t));
}

template <class C>
ref::EmbeddingDims embedding_dims(const C& c) {
  return {.t = c.dim(0), .h = c.dim(1), .v = c.dim(2), .first_row = c.at.tp * c.dim(2)};
}

template <class C>
void position(const C& c) {
  const std::int64_t t = c.dim(0), h = c.dim(1), micro = c.dim(2);
  const ref::RowPlacement rows = c.rows(micro, t);
  const std::int64_t table = (rows.position(t - 1) + 1) * h;
  if (c.shape.kernel == Kernel::position_fwd) {
    ref::position_fwd({.t = t, .h = h}, rows, c.in(0, t * h), c.in_at_least(1, table),
                      c.out(0, t * h));
  } else {
    ref::position_bwd({.t = t, .h = h}, rows, c.in(0, t * h), c.add_to_at_least(0, table));
  }
}

template <class C>
ref::NormForward<ValueOf<C>> norm_forward(const C& c, std::int64_t stats, bool has_beta) {
  const std::int64_t t = c.dim(0), h = c.dim(1);
  return {.x = c.in(0, t * h),
          .gamma = c.in(1, h),
          .beta = has_beta ? c.in(2, h) : nullptr,
          .y = c.out(0, t * h),
          .stats = c.out(1, stats * t)};
}

template <class C>
ref::NormBackward<ValueOf<C>> norm_backward(const C& c, std::int64_t stats, bool has_beta) {
  const std::int64_t t = c.dim(0), h = c.dim(1);
  const bool trains = !c.has(kInputGradOnly);
  return {.dy = c.in(0, t * h),
          .x = c.in(1, t * h),
          .gamma = c.in(2, h),
          .stats = c.in(3, stats * t),
          .dx = c.out(0, t * h),
          .dgamma = trains ? gradient(c, 1, h) : nullptr,
          .dbeta = trains && has_beta ? gradient(c, 2, h) : nullptr};
}

template <class C>
ref::NormDims norm_dims(const C& c) {
  return {.t = c.dim(0), .h = c.dim(1)};
}

template <class C>
void gemm(const C& c) {
  const ref::GemmDims d{
      .m = c.dim(0), .n = c.dim(1), .k = c.dim(2), .offset = c.dim(3), .row = c.dim(4)};
  switch (c.shape.kernel) {
    case Kernel::gemm_fwd:
      return SetOf<C>::gemm_fwd(d, c.in(0, d.m * d.k), c.in(1, d.n * d.k),
                                c.has(kHasBias) ? c.in(2, d.n) : nullptr, c.out(0, d.m * d.n));
    case Kernel::gemm_dgrad:
      return SetOf<C>::gemm_dgrad(d, c.in(0, d.m * (d.row > 0 ? d.row : d.n)), c.in(1, d.n * d.k),
                                  c.out(0, d.m * d.k));
    default:
      break;
  }
  const bool adds = c.has(kAccumulate);
  SetOf<C>::gemm_wgrad(d, adds ? ref::Update::accumulate : ref::Update::overwrite,
                       c.in(0, d.m * d.n), c.in(1, d.m * d.k),
                       adds ? c.add_to(0, d.n * d.k) : c.out(0, d.n * d.k));
}

template <class C>
void activation(const C& c) {
  const ref::ActivationDims d{
      .t = c.dim(0), .f = c.dim(1), .kind = static_cast<ref::ActivationKind>(c.dim(2))};
  const std::int64_t y = d.t * d.f, x = ref::is_gated(d.kind) ? 2 * y : y;
  if (c.shape.kernel == Kernel::activation_fwd) {
    SetOf<C>::activation_fwd(d, c.in(0, x), c.out(0, y));
  } else {
    SetOf<C>::activation_bwd(d, c.in(0, y), c.in(1, x), c.out(0, x));
  }
}

template <class C>
void residual_add(const C& c) {
  const std::int64_t t = c.dim(0), h = c.dim(1), n = t * h;
  ref::residual_add<ValueOf<C>>({.t = t,
                                 .h = h,
                                 .x = c.in(0, n),
                                 .residual = c.in(1, n),
                                 .bias = c.has(kHasBias) ? c.in(2, h) : nullptr,
                                 .y = c.out(0, n)});
}

template <class C>
void sum_squares(const C& c) {
  const ValueOf<C>* g = c.in(0, c.dim(0));
  ValueOf<C>* norm2 = c.add_to(0, 1);
  for (const ParamRange& r : c.norm_ranges) ref::sum_squares(r.end - r.begin, g + r.begin, norm2);
}

/// 1 when the program does not clip.
template <class C>
ValueOf<C> coefficient(const C& c) {
  return c.op.inputs > 1 ? *c.in(1, 1) : ref::Number<ValueOf<C>>::integer(1);
}

/// Under loss scaling, steps that overflowed were none for the optimizer.
template <class C>
std::int64_t taken_steps(const C& c) {
  if (c.op.inputs < 4) return c.step;
  return c.step - ref::to_integer(c.in(3, ref::kLossScaleState)[ref::kSkippedSteps]);
}

template <class C>
void optimizer(const C& c) {
  const std::int64_t n = c.dim(0);
  if (c.op.inputs > 2 && !(*c.in(2, 1) == ValueOf<C>{})) return;
  if (c.shape.kernel == Kernel::sgd) {
    return ref::sgd<ValueOf<C>>({}, {.n = n,
                                     .g = c.in(0, n),
                                     .coefficient = coefficient(c),
                                     .master = c.add_to(0, n),
                                     .w = c.out(1, n)});
  }
  SetOf<C>::adamw({}, taken_steps(c),
                  {.n = n,
                   .g = c.in(0, n),
                   .coefficient = coefficient(c),
                   .master = c.add_to(0, n),
                   .m = c.add_to(1, n),
                   .v = c.add_to(2, n),
                   .w = c.out(3, n)});
}

template <class C>
void pack(const C& c) {
  const std::int64_t n = c.dim(0);
  ValueOf<C>* y = c.out(0, n);
  std::int64_t done = 0;
  for (std::size_t i = 0; i < c.op.inputs; ++i) {
    const std::int64_t part = c.elements(i);
    if (done + part > n) throw ExecutionError("packs more than its output holds");
    ref::copy(part, c.in(i, part), y + done);
    done += part;
  }
  ref::zero(n - done, y + done);
}

/// Copies of several tensors, between device and host.
template <class C>
void copy_each(const C& c) {
  const bool masks = c.shape.in == Dtype::uint8;  // one op copies masks or numbers
  for (std::size_t i = 0; i < c.op.inputs; ++i) {
    const std::int64_t n = c.elements(i);
    if (masks) {
      std::copy_n(c.mask_in(i, n), n, c.mask_out(i, n));
    } else {
      std::copy_n(c.in(i, n), n, c.out(i, n));
    }
  }
}

/// The largest magnitudes of `parts` equal parts of this op's n elements.
template <class C>
void largest_of_parts(const C& c, const ValueOf<C>* x, ValueOf<C>* to, std::int64_t parts) {
  const std::int64_t n = c.dim(0) / parts;
  for (std::int64_t i = 0; i < parts; ++i) to[i] = ref::amax(n, x + i * n);
}

/// Numbers are exact here: a narrow copy holds those of the wide tensor, and scales are told but
/// not applied.
template <class C>
void quantize(const C& c) {
  const std::int64_t n = c.dim(0), copies = c.dim(1), scales = c.dim(2);
  const ValueOf<C>* x = c.in(0, n);
  std::size_t output = 0;
  for (std::int64_t i = 0; i < copies; ++i) ref::copy(n, x, c.out(output++, n));
  const ValueOf<C> largest = ref::amax(n, x);
  for (std::int64_t i = 0; scales > 0 && i < copies; ++i) {
    ValueOf<C>* to = c.out(output++, scales);
    std::fill(to, to + scales, largest);
  }
  if (c.dim(3) > 0) largest_of_parts(c, x, c.out(output, c.dim(3)), c.dim(3));
}

template <class C>
struct Row {
  Kernel kernel;
  Run<C> run;
};

// One row per kernel: a table is as long as what it lists.
template <class Call>
constexpr auto table() {  // NOLINT(readability-function-size)
  using K = Kernel;
  using T = ValueOf<Call>;
  using C = const Call&;
  constexpr auto nothing = [](C) {};
  constexpr auto copy = [](C c) { ref::copy(c.dim(0), c.in(0, c.dim(0)), c.out(0, c.dim(0))); };
  return std::to_array<Row<Call>>({
      {K::none, nothing},
      {K::load_tokens, [](C c) { load(c, 0); }},
      {K::load_labels, [](C c) { load(c, 1); }},
      {K::embedding_fwd,
       [](C c) {
         const ref::EmbeddingDims d = embedding_dims(c);
         ref::embedding_fwd(d, c.tokens_in(0, d.t), c.in(1, d.v * d.h), c.out(0, d.t * d.h));
       }},
      {K::embedding_bwd,
       [](C c) {
         const ref::EmbeddingDims d = embedding_dims(c);
         ref::embedding_bwd(d, c.tokens_in(0, d.t), c.in(1, d.t * d.h), c.add_to(0, d.v * d.h));
       }},
      {K::position_fwd, position<Call>},
      {K::position_bwd, position<Call>},
      {K::layernorm_fwd,
       [](C c) { SetOf<Call>::layernorm_fwd(norm_dims(c), norm_forward(c, 2, true)); }},
      {K::layernorm_bwd,
       [](C c) { SetOf<Call>::layernorm_bwd(norm_dims(c), norm_backward(c, 2, true)); }},
      {K::rmsnorm_fwd,
       [](C c) { SetOf<Call>::rmsnorm_fwd(norm_dims(c), norm_forward(c, 1, false)); }},
      {K::rmsnorm_bwd,
       [](C c) { SetOf<Call>::rmsnorm_bwd(norm_dims(c), norm_backward(c, 1, false)); }},
      {K::gemm_fwd, gemm<Call>},
      {K::gemm_dgrad, gemm<Call>},
      {K::gemm_wgrad, gemm<Call>},
      {K::bias_bwd,
       [](C c) {
         const ref::GemmDims d{.m = c.dim(0), .n = c.dim(1), .k = 0};
         ref::bias_bwd(d, c.in(0, d.m * d.n), gradient(c, 0, d.n));
       }},
      {K::grouped_fwd, grouped<Call>},
      {K::grouped_dgrad, grouped<Call>},
      {K::grouped_wgrad, grouped<Call>},
      {K::rope_fwd, rope<Call>},
      {K::rope_bwd, rope<Call>},
      {K::latent_heads_fwd, latent_heads<Call>},
      {K::latent_heads_bwd, latent_heads<Call>},
      {K::flash_fwd, flash<Call>},
      {K::flash_bwd, flash<Call>},
      {K::scores_fwd, scores_and_context<Call>},
      {K::softmax_fwd, softmax<Call>},
      {K::context_fwd, scores_and_context<Call>},
      {K::context_bwd, scores_and_context<Call>},
      {K::softmax_bwd, softmax<Call>},
      {K::scores_bwd, scores_and_context<Call>},
      {K::flash_block_fwd, flash_block<Call>},
      {K::flash_block_bwd, flash_block<Call>},
      {K::merge_attention, merge_attention<Call>},
      {K::columns_to_blocks, regroup_columns<Call>},
      {K::blocks_to_columns, join_columns<Call>},
      {K::rows_to_sequence, join_columns<Call>},
      {K::sequence_to_rows, regroup_columns<Call>},
      {K::activation_fwd, activation<Call>},
      {K::activation_bwd, activation<Call>},
      {K::dropout_fwd, dropout_fwd<Call>},
      {K::dropout_bwd, dropout_bwd<Call>},
      {K::residual_add, residual_add<Call>},
      {K::dropout_add, dropout_add<Call>},
      {K::add,
       [](C c) {
         const std::int64_t n = c.dim(0);
         ref::add(n, c.in(0, n), c.in(1, n), c.out(0, n));
       }},
      {K::cast, copy},
      {K::copy, copy},
      {K::zero, [](C c) { ref::zero(c.dim(0), c.out(0, c.dim(0))); }},
      {K::scale,
       [](C c) {
         const std::int64_t n = c.dim(0);
         ref::scale(n, {.by = std::max<std::int64_t>(1, c.dim(2)), .over = c.dim(1)}, c.in(0, n),
                    c.out(0, n));
       }},
      {K::accumulate,
       [](C c) { ref::accumulate(c.dim(0), c.in(0, c.dim(0)), c.add_to(0, c.dim(0))); }},
      {K::pack, pack<Call>},
      {K::hand_over, copy},
      {K::amax, [](C c) { largest_of_parts(c, c.in(0, c.dim(0)), c.out(0, c.dim(1)), c.dim(1)); }},
      {K::quantize, quantize<Call>},
      {K::update_scales, copy},
      {K::route_fwd, route<Call>},
      {K::route_bwd, route<Call>},
      {K::permute_fwd, permute<Call>},
      {K::permute_bwd, permute<Call>},
      {K::unpermute_fwd, permute<Call>},
      {K::unpermute_bwd, permute<Call>},
      {K::spread_fwd, spread<Call>},
      {K::spread_bwd, spread<Call>},
      {K::weighted_activation_fwd, weighted_activation<Call>},
      {K::weighted_activation_bwd, weighted_activation<Call>},
      {K::swap_chunks, swap_chunks<Call>},
      {K::pad_groups, pad_groups<Call>},
      {K::ce_max, loss<Call>},
      {K::ce_partial, loss<Call>},
      {K::ce_loss, loss<Call>},
      {K::ce_bwd, loss<Call>},
      {K::ce_sums, loss<Call>},
      {K::ce_grad, loss<Call>},
      {K::sum_squares, sum_squares<Call>},
      {K::clip_coefficient, [](C c) { *c.out(0, 1) = ref::clip_coefficient<T>({}, *c.in(0, 1)); }},
      {K::start_loss_scale,
       [](C c) { ref::start_loss_scale<T>(c.dim(0), c.dim(1), c.out(0, ref::kLossScaleState)); }},
      {K::unscale,
       [](C c) {
         ref::unscale(c.dim(0), c.in(1, ref::kLossScaleState), c.out(0, c.dim(0)), c.add_to(1, 1));
       }},
      {K::update_loss_scale,
       [](C c) {
         ref::update_loss_scale({.growth_interval = c.dim(0), .hysteresis = c.dim(1)}, *c.in(0, 1),
                                c.add_to(0, ref::kLossScaleState));
       }},
      {K::adamw, optimizer<Call>},
      {K::sgd, optimizer<Call>},
      {K::to_host, copy_each<Call>},
      {K::to_device, copy_each<Call>},
      {K::host_work, nothing},
  });
}

}  // namespace kernel_rows

/// Runs the kernel of a compute op; C is KernelCall<T> (the interpreter) or DeviceCall<T> (a
/// device). Throws ExecutionError when its operands do not fit.
template <class C>
void run_kernel(const C& call) {
  static constexpr auto rows = kernel_rows::table<C>();
  static_assert(rows.size() == static_cast<std::size_t>(Kernel::count));
  const auto& row = rows[static_cast<std::size_t>(call.shape.kernel)];
  CHECK(row.kernel == call.shape.kernel, "kernel rows stand in the order of the enum");
  row.run(call);
}

}  // namespace windtunnel
