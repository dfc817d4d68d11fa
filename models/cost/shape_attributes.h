#pragma once
// Names of the ShapeAttr bits, for files.

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "program/kernel.h"

namespace windtunnel {

constexpr std::array<std::pair<std::uint16_t, std::string_view>, 9> kShapeAttributeNames = {{
    {kAccumulate, "accumulate"},
    {kSequenceShard, "sequence_shard"},
    {kHasBias, "has_bias"},
    {kCausal, "causal"},
    {kAlibi, "alibi"},
    {kAttentionDropout, "attention_dropout"},
    {kFused, "fused"},
    {kOverwrite, "overwrite"},
    {kContinues, "continues"},
}};

}  // namespace windtunnel
