#pragma once
// What a lowered program keeps from forward to backward: the frame slots of a layer.
//
// A layer's input is its predecessor's output; the sum over the slots of layer l counts l's own
// output in its place, which the next layer (or the head) keeps. So l must not be the last layer of
// a stage.

#include <cstdint>

#include "program/program.h"

namespace windtunnel::closed_form {

/// norm_stats: the mean and reciprocal deviation of a norm, left out of the published GPT formulas.
enum class NormStats : std::uint8_t { counted, left_out };

/// Bytes one micro-batch keeps of one layer.
std::int64_t saved_layer_bytes(const Role& role, int layer, NormStats stats);

/// Most bytes of a chunk's layers alive at the start of a backward call, over all micro-batches and
/// chunks of the role; the embedding's output counts as the first layer's input.
std::int64_t peak_saved_bytes(const Program& program, std::size_t role);

}  // namespace windtunnel::closed_form
