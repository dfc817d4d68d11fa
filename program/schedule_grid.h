#pragma once
// The step x rank grid of a program: which pass of which micro-batch every pipeline rank runs when
// transfers cost nothing.
//
// One row per pipeline rank, one column per time slot. A cell is the micro-batch and a letter for
// the rank's chunk, small for a forward and capital for a backward: `3a` is the forward of
// micro-batch 3 on the first chunk, `3A` its backward. Of a backward in two parts `3A` is the
// input gradient and `3wA` the weight gradient. `==` continues a pass of several slots, `.` is
// idle.

#include <string>
#include <vector>

#include "program/program.h"

namespace windtunnel {

/// Slots per pass of one chunk; all at least 1.
struct GridCosts {
  int forward = 1, backward = 2, input_grad = 1, weight_grad = 1;
};

/// A pass and its slots [begin, end).
struct GridPass {
  bool backward = false;      // all of it, or one of its parts
  bool makes_input = false;   // a backward: its input gradient,
  bool makes_weight = false;  // and its weight gradient
  std::int16_t chunk = 0;
  std::int32_t micro_batch = 0;
  int begin = 0, end = 0;

  friend bool operator==(const GridPass&, const GridPass&) = default;
};

/// Passes of every role in order, as early as their order and their inputs allow. A pass that waits
/// forever is left out with all after it (`verify` tells why).
std::vector<std::vector<GridPass>> schedule_passes(const Program& program, GridCosts costs = {});

/// At most `columns` slots; a longer grid ends its rows with `...`.
std::string schedule_grid(const Program& program, GridCosts costs = {}, int columns = 120);

}  // namespace windtunnel
