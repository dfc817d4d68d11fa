#pragma once
// How fast the machine is now: two small fixed programs of a few milliseconds each.
//
// A machine that others use too changes its speed by tens of per cent within minutes, while the
// ratio of two programs run one after the other holds. Every sample is therefore stored with the
// anchors measured just before and just after it, and costs are stated at one rate of the anchors.
//
//   compute  x = x a + b on 2048 floats in the first cache, 16 times per load
//   memory   a copy of 32 MiB, more than a core's own caches hold; bytes read and written count
//
// They are no peak rates of anything: only their ratios mean something.

#include <vector>

#include "models/cost/calibration.h"

namespace windtunnel {

class Anchor {
 public:
  /// Takes 64 MiB and runs both once.
  Anchor();

  /// Medians of three passes of each, some 10 ms together.
  AnchorRates measure();

 private:
  double compute_pass();
  double memory_pass();

  std::vector<float> numbers_;
  std::vector<char> from_, to_;
};

}  // namespace windtunnel
