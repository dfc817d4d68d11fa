#pragma once
// Factors on integer times: Q16 fixed point, so a scaled time is the same on every machine and for
// every width of vector unit.

#include <cmath>
#include <cstdint>

#include "core/units.h"

namespace windtunnel {

/// A factor times 2^16.
using FactorQ16 = std::int64_t;
constexpr FactorQ16 kOneQ16 = 1 << 16;

inline FactorQ16 to_q16(double factor) {
  return std::llround(factor * static_cast<double>(kOneQ16));
}

/// floor(time * factor). Exact without overflow for 0 <= time < 2^58 (three days in picoseconds)
/// and 0 <= factor < 2^20 in Q16 (16); larger factors shorten the range of time in proportion.
constexpr Picoseconds scale_q16(Picoseconds time, FactorQ16 factor) {
  return ((time >> 16) * factor) + (((time & 0xffff) * factor) >> 16);
}

}  // namespace windtunnel
