#pragma once
// Time of fused attention kernels.
//
//   FLOP     forward 2 micro a s s' (d + dv), backward 2.5 times that, half of either when causal;
//            dv, the width of a value head, is d but in latent attention, whose profile rows are by
//            the d of queries and keys
//   rate     = peak * W/(W + wave) * s'/(s' + half) * d/padded(d)
//   W        = work of all query tiles over the work of the longest one, per SM
//            = micro a ceil(s/tile) mean / SMs, mean = 1 full, (q+1)/(2q) causal with q tiles
//   s, s'    queries and keys: the sequence; of a step of a ring after the first all queries and
//            half of the keys, none masked (docs/context_parallel.md); with a window w twice the
//            keys a query sees on average, s' = 2w - w^2/s, which is s where w is, and mean = s'/2w
//   time     = fixed + FLOP / rate
//
// `W/(W + wave)` is the tail: with few heads on few tokens the longest tiles run alone. `half` is
// the sequence at which half of the peak is lost to prologue and masking. Rows are by kernel,
// direction, head dim and mask (profile `attention`); a head dim between two rows takes the linear
// mix of their parameters, and kernels pad it to a multiple of 32 (flash-attention
// csrc/flash_attn/src/static_switch.h HEADDIM_SWITCH @0251105a). Where the profile lacks a kernel
// the next of `attention_fallback` is taken, with a wider sigma. docs/cost_attention.md has the
// fits.

#include <span>

#include "models/cost/attention_variant.h"
#include "models/cost/profile.h"

namespace windtunnel {

/// What a fused attention kernel works on.
struct AttentionWork {
  double queries = 0, keys = 0;
  double longest = 0;  // with a window: keys of a query that sees most
  bool causal = false, backward = false;
};
AttentionWork attention_work(const Shape& shape);

/// FLOP executed by a shape of fused attention.
double attention_flops(const Shape& shape);

/// Kernels tried in turn when a profile has no row for the one asked for.
std::span<const AttentionVariant> attention_fallback(AttentionVariant wanted);

/// Precondition: the shape is of fused attention; the profile has attention rows.
OpCost attention_cost(const Profile& profile, const Shape& shape);

}  // namespace windtunnel
