#pragma once
// The cross entropy in the kernel table (`kernel_rows.h`).

#include <algorithm>
#include <cstdint>

#include "kernels/reference/loss.h"
#include "kernels/reference/loss_scale.h"
#include "program/program.h"
#include "runtime/kernel_sets.h"
#include "runtime/row_operands.h"

namespace windtunnel::kernel_rows {

namespace ref = reference;

template <class C>
ref::LossDims loss_dims(const C& c, std::int64_t columns, std::int64_t divisor) {
  const std::int64_t blocks = std::max<std::int64_t>(1, c.dim(3));
  return {.t = c.dim(0),
          .v = columns,
          .blocks = blocks,
          .first_column = blocks > 1 ? 0 : c.at.tp * columns,
          .vocab = c.program.job.vocab,
          .divisor = divisor};
}

template <class C>
using LossPartialOf = ref::LossPartial<ValueOf<C>, typename C::Token>;
template <class C>
using LossGradientOf = ref::LossGradient<ValueOf<C>, typename C::Token>;

/// The gradient of the scaled loss, when the op names a loss scale.
template <class C>
void scale_loss(const C& c, std::size_t input, std::int64_t n) {
  if (c.op.inputs <= input) return;
  const ValueOf<C> scale = c.in(input, ref::kLossScaleState)[ref::kScale];
  ValueOf<C>* gradient = c.out(0, n);
  for (std::int64_t i = 0; i < n; ++i) gradient[i] *= scale;
}

template <class C>
void loss(const C& c) {
  const std::int64_t t = c.dim(0);
  if (c.shape.kernel == Kernel::ce_loss) {
    return ref::ce_loss(loss_dims(c, 0, c.dim(1)), c.in(0, t), c.in(1, t), c.add_to(0, 1));
  }
  const std::int64_t n = t * c.dim(1) * std::max<std::int64_t>(1, c.dim(3));
  switch (c.shape.kernel) {
    case Kernel::ce_max:
      return SetOf<C>::ce_max(loss_dims(c, c.dim(1), 1), c.in(0, n), c.out(0, t));
    case Kernel::ce_partial:
      return SetOf<C>::ce_partial(loss_dims(c, c.dim(1), 1), {.logits = c.in(0, n),
                                                              .labels = c.tokens_in(1, t),
                                                              .maxima = c.in(2, t),
                                                              .probs = c.out(0, n),
                                                              .target = c.out(1, t),
                                                              .sum = c.out(2, t)});
    case Kernel::ce_sums:
      return ref::ce_partial(loss_dims(c, c.dim(1), 1),
                             LossPartialOf<C>{.logits = c.in(0, n),
                                              .labels = c.tokens_in(1, t),
                                              .maxima = c.in(2, t),
                                              .probs = nullptr,
                                              .target = c.out(0, t),
                                              .sum = c.out(1, t)});
    case Kernel::ce_grad:
      ref::ce_grad(loss_dims(c, c.dim(1), c.dim(2)), LossGradientOf<C>{.logits = c.in(0, n),
                                                                       .labels = c.tokens_in(1, t),
                                                                       .maxima = c.in(2, t),
                                                                       .sum = c.in(3, t),
                                                                       .dlogits = c.out(0, n)});
      return scale_loss(c, 4, n);
    default:
      SetOf<C>::ce_bwd(loss_dims(c, c.dim(1), c.dim(2)), c.in(0, n), c.in(1, t), c.tokens_in(2, t),
                       c.out(0, n));
      return scale_loss(c, 3, n);
  }
}

}  // namespace windtunnel::kernel_rows
