#pragma once
// Memory that a step leaves alone for long between two uses: weights, gradients, states. What else
// the step touches has taken its place in the caches. A measurement has several blocks of it, which
// its runs take in turn.

#include <algorithm>
#include <cstdint>

namespace windtunnel {

/// What blocks of old memory are together: as much as the step touches, so that they lie as far
/// away as there. Beyond some times a shared cache more memory tells nothing new.
inline std::int64_t rotated_bytes(std::int64_t touched_bytes) {
  constexpr std::int64_t kLeast = std::int64_t{32} << 20, kMost = std::int64_t{192} << 20;
  return std::clamp(touched_bytes, kLeast, kMost);
}

/// Where a member's own part of a gather's result or of a scatter's input lies: inside that tensor,
/// or in memory of its own, which the op before has just written or the next one reads (recent), or
/// which is old.
enum class PartPlace : std::uint8_t { inside, recent, old };

}  // namespace windtunnel
