#pragma once
// Which transfer a transfer probably waits for, so that the fluid of a round can move its start
// when that one ends later than the sweep thought.
//
// A guess only decides how many rounds T2 takes: once sweep and fluid agree on every end, a start
// counted from another transfer's end is the sweep's own start. Without it, transfers that follow
// each other would pile up in the fluid as if none of them had been delayed, and each round would
// settle a few of them only.

#include <cstddef>
#include <optional>
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

struct Predecessor {
  std::size_t transfer = 0;
  Picoseconds gap = 0;  // from its end to the start
};

/// Of each collective: the one before it on its stream, where that ends when it starts; else the
/// latest one to end before it on its role's compute stream. None: there is no such collective, or
/// it is a point-to-point transfer, which waits for other roles as often as for its own.
/// Precondition: every transfer takes time. O(n log n).
std::vector<std::optional<Predecessor>> predecessors_of(std::span<const SweptTransfer> transfers);

}  // namespace windtunnel
