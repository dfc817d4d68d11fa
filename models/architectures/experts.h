#pragma once
// How many rows an expert gets.
//
//   C = ceil(T K / E * f)       T tokens of one rank, K experts a token, E experts
//
// With a capacity factor f it is the most an expert takes (Megatron-LM core/transformer/moe/
// moe_utils.py, get_capacity, called with T K tokens); without, f is the load of the busiest expert
// over the mean, 1 when choices are even.

#include <cstdint>

#include "models/architectures/model.h"

namespace windtunnel {

/// Rows of one expert for `tokens` tokens of one rank.
std::int64_t expert_rows(const MoeShape& moe, std::int64_t tokens);

/// Whether choices go around the experts evenly; else a hash draws them and an expert's rows may
/// run out.
bool routes_evenly(const MoeShape& moe);

/// Bytes that a rank gives the all-to-all of one direction: K copies of each token's row of
/// `hidden` elements of `bits` bits.
std::int64_t dispatch_bytes(const MoeShape& moe, std::int64_t tokens, std::int64_t hidden,
                            int bits);

/// Of these, the fraction that leaves the rank when choices are even: (n - 1)/n.
double leaving_fraction(int expert_ranks);

}  // namespace windtunnel
