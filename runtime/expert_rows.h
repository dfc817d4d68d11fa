#pragma once
// Kernels of experts in the kernel table (`kernel_rows.h`): routing, permutation, grouped products.

#include <algorithm>
#include <cstdint>

#include "kernels/reference/elementwise.h"
#include "kernels/reference/permute.h"
#include "kernels/reference/routing.h"
#include "program/program.h"
#include "runtime/kernel_sets.h"

namespace windtunnel::kernel_rows {

namespace ref = reference;

template <class C>
ref::RoutingDims routing_dims(const C& c) {
  return {.t = c.dim(0),
          .experts = c.dim(1),
          .k = c.dim(2),
          .capacity = c.dim(3),
          .parts = c.dim(4),
          .ring = std::max<std::int64_t>(1, c.dim(5))};
}

template <class C>
void route(const C& c) {
  const ref::RoutingDims d = routing_dims(c);
  const ref::Score score = c.has(kSigmoid) ? ref::Score::sigmoid : ref::Score::softmax;
  const std::int64_t logits = d.t * d.experts, choices = d.t * d.k;
  if (c.shape.kernel == Kernel::route_bwd) {
    return ref::route_bwd<typename C::Value, typename C::Token>(d, score,
                                                                {.dprobs = c.in(0, choices),
                                                                 .logits = c.in(1, logits),
                                                                 .rows = c.tokens_in(2, choices),
                                                                 .dlogits = c.out(0, logits)});
  }
  const Job& job = c.program.job;
  // Any fixed difference keeps choices apart from weights and tokens of the same seed.
  constexpr std::uint64_t kChoices = 0x657870657274;
  typename C::Token* rows = c.tokens_out(1, choices);
  ref::choose_experts(d,
                      {.seed = c.seed ^ kChoices,
                       .layer = c.op.layer,
                       .sequence = job.sequence,
                       .hashed = c.has(kHashed),
                       .rows = c.rows(job.micro, d.t)},
                      rows, c.out(2, d.parts * d.experts));
  ref::route_fwd(d, score, c.in(0, logits), rows, c.out(0, choices));
}

template <class C>
void permute(const C& c) {
  const ref::PermuteDims d{.t = c.dim(0), .h = c.dim(1), .k = c.dim(2), .rows = c.dim(3)};
  const std::int64_t tokens = d.t * d.h, permuted = d.rows * d.h, choices = d.t * d.k;
  switch (c.shape.kernel) {
    case Kernel::permute_fwd:
      return ref::permute_fwd(d, c.in(0, tokens), c.tokens_in(1, choices), c.out(0, permuted));
    case Kernel::permute_bwd:
      return ref::permute_bwd(d, c.in(0, permuted), c.tokens_in(1, choices), c.out(0, tokens));
    case Kernel::unpermute_fwd:
      return ref::unpermute_fwd<typename C::Value, typename C::Token>(
          d, {.y = c.in(0, permuted),
              .probs = c.in(1, choices),
              .rows = c.tokens_in(2, choices),
              .x = c.out(0, tokens)});
    default:
      return ref::unpermute_bwd<typename C::Value, typename C::Token>(
          d, {.dx = c.in(0, tokens),
              .y = c.in(1, permuted),
              .probs = c.in(2, choices),
              .rows = c.tokens_in(3, choices),
              .dy = c.out(0, permuted),
              .dprobs = c.out(1, choices)});
  }
}

/// Probabilities to the rows they weigh, and back.
template <class C>
void spread(const C& c) {
  const ref::PermuteDims d{.t = c.dim(0), .h = 1, .k = c.dim(2), .rows = c.dim(3)};
  const std::int64_t choices = d.t * d.k;
  if (c.shape.kernel == Kernel::spread_fwd) {
    ref::spread_fwd(d, c.in(0, choices), c.tokens_in(1, choices), c.out(0, d.rows));
  } else {
    ref::spread_bwd(d, c.in(0, d.rows), c.tokens_in(1, choices), c.out(0, choices));
  }
}

template <class C>
void weighted_activation(const C& c) {
  const ref::ActivationDims d{
      .t = c.dim(0), .f = c.dim(1), .kind = static_cast<ref::ActivationKind>(c.dim(2))};
  const std::int64_t y = d.t * d.f, x = ref::is_gated(d.kind) ? 2 * y : y;
  if (c.shape.kernel == Kernel::weighted_activation_fwd) {
    ref::weighted_activation_fwd(d, c.in(0, x), c.in(1, d.t), c.out(0, y));
  } else {
    ref::weighted_activation_bwd<typename C::Value>(d, {.dy = c.in(0, y),
                                                        .x = c.in(1, x),
                                                        .w = c.in(2, d.t),
                                                        .dx = c.out(0, x),
                                                        .dw = c.out(1, d.t)});
  }
}

template <class C>
void swap_chunks(const C& c) {
  const ref::ChunkDims d{.a = c.dim(0), .b = c.dim(1), .n = c.dim(2)};
  const std::int64_t n = d.a * d.b * d.n;
  ref::swap_chunks(d, c.in(0, n), c.out(0, n));
}

template <class C>
void pad_groups(const C& c) {
  const ref::GroupDims d{.groups = c.dim(0), .rows = c.dim(1), .to_rows = c.dim(2), .n = c.dim(3)};
  ref::pad_groups(d, c.in(0, d.groups * d.rows * d.n), c.out(0, d.groups * d.to_rows * d.n));
}

/// One product after the other: what a grouped kernel computes in one launch.
template <class C>
void grouped(const C& c) {
  const ref::GemmDims d{.m = c.dim(0), .n = c.dim(1), .k = c.dim(2)};
  const std::int64_t groups = c.dim(3);
  const std::int64_t a = d.m * d.k, w = d.n * d.k, y = d.m * d.n;
  const bool adds = c.has(kAccumulate);
  const bool of_weights = c.shape.kernel == Kernel::grouped_wgrad;
  const auto* first = c.in(0, groups * (c.shape.kernel == Kernel::grouped_fwd ? a : y));
  const auto* second = c.in(1, groups * (of_weights ? a : w));
  auto* to = of_weights ? (adds ? c.add_to(0, groups * w) : c.out(0, groups * w))
                        : c.out(0, groups * (c.shape.kernel == Kernel::grouped_fwd ? y : a));
  for (std::int64_t g = 0; g < groups; ++g) {
    switch (c.shape.kernel) {
      case Kernel::grouped_fwd:
        SetOf<C>::gemm_fwd(d, first + g * a, second + g * w, nullptr, to + g * y);
        break;
      case Kernel::grouped_dgrad:
        SetOf<C>::gemm_dgrad(d, first + g * y, second + g * w, to + g * a);
        break;
      default:
        SetOf<C>::gemm_wgrad(d, adds ? ref::Update::accumulate : ref::Update::overwrite,
                             first + g * y, second + g * a, to + g * w);
        break;
    }
  }
}

}  // namespace windtunnel::kernel_rows
