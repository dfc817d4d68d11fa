#include "models/cost/memory_cost.h"

#include <algorithm>

#include "core/check.h"

namespace windtunnel {

namespace {

constexpr std::array<std::string_view, 12> kGroups = {
    "norm_fwd", "norm_bwd", "elementwise",   "activation", "dropout", "dropout_add",
    "softmax",  "rope",     "cross_entropy", "reduction",  "gather",  "optimizer",
};

constexpr double kAbsentEfficiency = 0.5;  // a group the file leaves out: half the bandwidth
constexpr double kAbsentSigma = 0.30;

const MemoryRow* find_row(const Profile& profile, std::string_view group, bool fused) {
  for (const MemoryRow& row : profile.memory_bound) {
    if (row.group == group && row.fused == fused) return &row;
  }
  return nullptr;
}

}  // namespace

std::span<const std::string_view> memory_groups() {
  return kGroups;
}

std::string_view memory_group(Kernel kernel) {
  switch (kernel) {
    case Kernel::layernorm_fwd:
    case Kernel::rmsnorm_fwd:
      return "norm_fwd";
    case Kernel::layernorm_bwd:
    case Kernel::rmsnorm_bwd:
      return "norm_bwd";
    case Kernel::activation_fwd:
    case Kernel::activation_bwd:
    case Kernel::weighted_activation_fwd:
    case Kernel::weighted_activation_bwd:
      return "activation";
    case Kernel::dropout_fwd:
    case Kernel::dropout_bwd:
      return "dropout";
    case Kernel::dropout_add:
      return "dropout_add";
    case Kernel::softmax_fwd:
    case Kernel::softmax_bwd:
    case Kernel::route_fwd:
    case Kernel::route_bwd:
      return "softmax";
    case Kernel::rope_fwd:
    case Kernel::rope_bwd:
    case Kernel::latent_heads_fwd:
    case Kernel::latent_heads_bwd:
      return "rope";
    case Kernel::ce_max:
    case Kernel::ce_partial:
    case Kernel::ce_loss:
    case Kernel::ce_bwd:
    case Kernel::ce_sums:
    case Kernel::ce_grad:
      return "cross_entropy";
    case Kernel::bias_bwd:
    case Kernel::position_bwd:
    case Kernel::sum_squares:
    case Kernel::clip_coefficient:
    case Kernel::amax:
      return "reduction";
    case Kernel::embedding_fwd:
    case Kernel::embedding_bwd:
    case Kernel::load_tokens:
    case Kernel::load_labels:
    case Kernel::permute_fwd:
    case Kernel::permute_bwd:
    case Kernel::unpermute_fwd:
    case Kernel::unpermute_bwd:
    case Kernel::spread_fwd:
    case Kernel::spread_bwd:
      return "gather";
    case Kernel::adamw:
    case Kernel::sgd:
      return "optimizer";
    default:
      return "elementwise";
  }
}

Seconds streaming_time(Bytes bytes, BytesPerSecond bandwidth) {
  return bytes / bandwidth;
}

OpCost memory_cost(const Profile& profile, const Shape& shape) {
  CHECK(row_of(shape.kernel).cls == KernelClass::memory, "a memory-bound kernel");
  const std::string_view group = memory_group(shape.kernel);
  const bool fused = (shape.attr & kFused) != 0;
  const MemoryRow* row = find_row(profile, group, fused);
  OpCost cost{.cls = CostClass::memory};
  double efficiency = kAbsentEfficiency;
  cost.sigma = kAbsentSigma;
  cost.origin = {Basis::assumed, profile.chip.memory_bandwidth.source};
  if (row == nullptr) row = find_row(profile, group, !fused);
  if (row != nullptr) {
    efficiency = row->efficiency.value;
    cost.sigma = row->fused == fused ? row->efficiency.sigma : kAbsentSigma;
    cost.origin = {row->fused == fused ? Basis::modelled : Basis::assumed, row->efficiency.source};
  }
  const Bytes bytes{static_cast<double>(shape.bytes_read + shape.bytes_written)};
  const Seconds streaming =
      streaming_time(bytes, {profile.chip.memory_bandwidth.value * efficiency});
  if ((shape.attr & kContinues) != 0) {
    cost.time = streaming;
    return cost;
  }
  cost.time = {std::max(profile.memory_kernel_floor.value,
                        profile.memory_kernel_fixed.value + streaming.value)};
  return cost;
}

}  // namespace windtunnel
