#pragma once
// Where a rank's rows lie in the whole micro-batch: what makes tokens, positions and dropout masks
// the same for every layout.

#include <cstdint>

namespace windtunnel::reference {

/// Row r of a rank is row `first_row + r` of its micro-batch; rows are ordered (position, sample).
struct RowPlacement {
  std::int64_t micro = 1;         // samples of a micro-batch
  std::int64_t first_row = 0;     // 0 unless rows are sharded over the sequence
  std::int64_t first_sample = 0;  // global number of the micro-batch's first sample

  std::int64_t position(std::int64_t r) const { return (first_row + r) / micro; }
  std::int64_t sample(std::int64_t r) const { return first_sample + (first_row + r) % micro; }
};

}  // namespace windtunnel::reference
