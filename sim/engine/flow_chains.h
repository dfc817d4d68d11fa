#pragma once
// Which transfers a transfer comes after, so that the fluid of a round can move its start when they
// end later than the sweep thought.
//
// Two kinds. Transfers of one stream follow each other, so one never begins before the end of the
// one before. And a collective follows the compute stream: when the last collective there ends
// later, so does the compute behind it, and the next collective begins that much later. The second
// is a guess, but a guess only decides how many rounds T2 takes: once sweep and fluid agree on
// every end, a start counted from another transfer's end is the sweep's own start. Without both,
// transfers would pile up in the fluid as if none of them had been delayed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units.h"
#include "program/program.h"

namespace windtunnel {

/// A transfer as the sweep has it.
struct SweptTransfer {
  Picoseconds start = 0, end = 0;  // the delays of the round before included
  int role = 0;
  bool point_to_point = false;
  Stream stream = Stream::compute;
  int lane = 0;
};

/// What a transfer comes after; kNothing where there is none.
struct Order {
  static constexpr std::size_t kNothing = SIZE_MAX;
  std::size_t behind = kNothing;   // starts at its end or later
  std::size_t follows = kNothing;  // starts `gap` after its end
  Picoseconds gap = 0;
};

/// Of each transfer: behind the one that ended last before it on its stream. A collective follows
/// that one if it starts at its end, else the latest collective before it on its role's compute
/// stream; a point-to-point transfer waits for other roles as often as for its own, so it follows
/// none. Precondition: every transfer takes time. O(n log n).
std::vector<Order> order_of(std::span<const SweptTransfer> transfers);

}  // namespace windtunnel
