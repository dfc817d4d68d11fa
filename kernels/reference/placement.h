#pragma once
// Where a rank's rows lie in the whole micro-batch: what makes tokens, positions and dropout masks
// the same for every layout.

#include <algorithm>
#include <cstdint>

namespace windtunnel::reference {

/// Which positions of a sequence a rank of a ring holds: of its 2 `ring` chunks of `half`
/// positions, chunk `place` and, mirrored, chunk 2 ring - 1 - place, so that causal attention costs
/// every rank the same. The default is the whole sequence.
struct ZigZag {
  std::int64_t half = 0, ring = 1, place = 0;

  std::int64_t first() const { return place * half; }
  std::int64_t second() const { return (2 * ring - 1 - place) * half; }
  std::int64_t position(std::int64_t local) const {
    return local < half ? first() + local : second() + local - half;
  }
  /// Where a position lies when those of all ranks stand one after the other, rank by rank.
  std::int64_t by_rank(std::int64_t position) const {
    const std::int64_t chunk = position / half, holder = std::min(chunk, 2 * ring - 1 - chunk);
    return (2 * holder + (chunk == holder ? 0 : 1)) * half + position % half;
  }
  /// How many of the `held` positions are not beyond `position`: they are the first.
  std::int64_t up_to(std::int64_t position, std::int64_t held) const {
    const std::int64_t of_first = std::clamp<std::int64_t>(position + 1 - first(), 0, half);
    const std::int64_t of_second =
        std::clamp<std::int64_t>(position + 1 - second(), 0, held - half);
    return of_first + of_second;
  }
};

/// Row r of a rank is row `first_row + r` of its part of a micro-batch; rows are ordered (position,
/// sample).
struct RowPlacement {
  std::int64_t micro = 1;         // samples of a micro-batch
  std::int64_t first_row = 0;     // 0 unless rows are sharded over the sequence
  std::int64_t first_sample = 0;  // global number of the micro-batch's first sample
  ZigZag positions{};             // of the rank's part

  std::int64_t position(std::int64_t r) const {
    return positions.position((first_row + r) / micro);
  }
  std::int64_t sample(std::int64_t r) const { return first_sample + (first_row + r) % micro; }
};

}  // namespace windtunnel::reference
