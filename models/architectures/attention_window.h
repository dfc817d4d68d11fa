#pragma once
// Which keys a layer's queries see: all before them (full), or the nearest `sliding_window` of
// them, themselves included (local).
//
// `layer_pattern` names the layers in turn, over and over; without one a window is every layer's.

#include "models/architectures/model.h"

namespace windtunnel {

/// Whether the window is this layer's. Precondition: the model has one.
bool has_window(const Model& model, std::int64_t layer);

/// Keys a query of `layer` sees at most; 0: all before it, as where the window is as long as the
/// sequence.
std::int64_t attention_window(const Model& model, std::int64_t layer, std::int64_t sequence);

/// Pairs of a query and a key that it sees, of a causal sequence: s w - w^2 / 2, the triangle s^2 /
/// 2 where the window is the sequence (0).
double causal_pairs(double sequence, double window);

}  // namespace windtunnel
