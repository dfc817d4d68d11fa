#pragma once
// Where a role's step time goes: one row per category, one entry per lane.
//
// What is the same on every lane is kept once, so the common case costs one addition.

#include <cstdint>
#include <vector>

#include "core/units.h"

namespace windtunnel {

class TimeTable {
 public:
  TimeTable(std::size_t categories, int lanes)
      : lanes_(static_cast<std::size_t>(lanes)),
        common_(categories, 0),
        rows_(categories * lanes_, 0) {}

  void charge_all(std::uint16_t category, Picoseconds time) { common_[category] += time; }
  /// One entry per lane, to be added to.
  Picoseconds* row(std::uint16_t category) { return rows_.data() + category * lanes_; }

  /// [category * lanes + lane]
  std::vector<Picoseconds> total() const {
    std::vector<Picoseconds> sum = rows_;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += common_[i / lanes_];
    return sum;
  }

 private:
  std::size_t lanes_;
  std::vector<Picoseconds> common_;
  std::vector<Picoseconds> rows_;
};

}  // namespace windtunnel
