#pragma once
// Dropout's draws of one row: the bits of `reference::keeps` with what the row's elements share
// hashed once, so that an element costs one mix64 and loops over a row vectorise.

#include <cmath>
#include <cstdint>

#include "core/counter_random.h"
#include "kernels/reference/dropout.h"

namespace windtunnel::cpu {

class RowDraws {
 public:
  RowDraws(const reference::DropoutKey& key, const reference::DropoutRow& at)
      : prefix_(counter_prefix(reference::draws_of(key), static_cast<std::uint64_t>(at.sample),
                               static_cast<std::uint64_t>(at.row))),
        // u * 2^-53 >= p of an integer u is u >= ceil(p 2^53), and p 2^53 is exact.
        first_kept_(static_cast<std::uint64_t>(std::ceil(key.probability * 0x1.0p53))) {}

  bool kept(std::int64_t column) const {
    return (mix64(prefix_ ^ static_cast<std::uint64_t>(column)) >> 11) >= first_kept_;
  }

 private:
  std::uint64_t prefix_, first_kept_;
};

}  // namespace windtunnel::cpu
