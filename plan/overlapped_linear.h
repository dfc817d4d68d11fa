#pragma once
// Linear layers whose products run beside the transfers of their operands (`overlap.tp`), under
// sequence parallel.
//
// Gathered: the T rows that a product reads come part by part around the tp ranks, its own first;
// each part is multiplied while the next one travels. With g the time of the whole product and x
// that of the whole gather, t ranks:
//   T = g/t + (t - 1) max(g/t, x/(t - 1))
// Scattered, userbuffers: the product is cut into kSplits ranges of output features, and each is
// reduce-scattered beside the next one's product. Symmetric memory: it is cut into the ranks' rows;
// each goes to its rank beside the next product, and the t partial sums are added at the end.
//
// Both stacks issue the products of one layer on streams in turn (three and two), so that the next
// one fills the device where one runs out: together they are one compute stream's, `turns` of them.
//
// docs/tensor_parallel_overlap.md has the sources.

#include <string_view>

#include "plan/parallel_linear.h"

namespace windtunnel {

/// Ranges of output features of a scattered product (userbuffers).
constexpr std::int64_t kSplits = 4;

/// a.shard (Ts, K), or its quantised rows -> C (T, N) = A W^T + bias; a.full (T, K) is filled, but
/// for the own rows where nothing reads it later.
SlotId gathered_forward(RoleDraft& d, ChunkParameters& p, const Linear& linear,
                        const LinearInput& a, std::string_view name);

/// a.full (T, K) -> (Ts, N), the sum over the ranks of A W^T
SlotId scattered_forward(RoleDraft& d, ChunkParameters& p, const Linear& linear,
                         const LinearInput& a, std::string_view name);

/// dC (Ts, N) -> dA (T, K), and the gathered dC (T, N) for the weight gradient.
struct GatheredBackward {
  SlotId input_grad = kNone;
  QuantizedOperand output_grad;
};
GatheredBackward gathered_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z,
                                   const Linear& linear, SlotId output_grad);

}  // namespace windtunnel
