#include "models/architectures/experts.h"

#include <cmath>

namespace windtunnel {

std::int64_t expert_rows(const MoeShape& moe, std::int64_t tokens) {
  const double mean = static_cast<double>(tokens * moe.top_k) / static_cast<double>(moe.experts);
  return static_cast<std::int64_t>(std::ceil(mean * moe.capacity_factor.value_or(moe.imbalance)));
}

bool routes_evenly(const MoeShape& moe) {
  return !moe.capacity_factor && moe.imbalance <= 1.0;
}

std::int64_t dispatch_bytes(const MoeShape& moe, std::int64_t tokens, std::int64_t hidden,
                            int bits) {
  return tokens * moe.top_k * hidden * bits / 8;
}

double leaving_fraction(int expert_ranks) {
  return static_cast<double>(expert_ranks - 1) / expert_ranks;
}

}  // namespace windtunnel
