#pragma once
// Implementations of attention as `Shape::variant` numbers them: the values of
// scenarios/scenario.h's AttentionKernel, which this folder may not include.

#include <array>
#include <cstdint>

namespace windtunnel {

enum class AttentionVariant : std::uint8_t { flash1, flash2, flash3, cudnn, fused, torch };

inline constexpr std::array kAttentionVariantNames = {"flash1", "flash2", "flash3",
                                                      "cudnn",  "fused",  "torch"};

}  // namespace windtunnel
