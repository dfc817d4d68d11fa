#include "sim/network/fair_share.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/check.h"

namespace windtunnel {

namespace {

/// Rounding of a sum of up to a million shares stays below it; a picosecond in a second is far
/// above.
constexpr double kRounding = 1e-9;

/// A link that some flow uses.
struct Level {
  double left = 0.0;    // capacity beyond what the settled flows take
  double least = 0.0;   // what rounding leaves at any rate, so that no rate is 0
  double weight = 0.0;  // of the flows still rising
  std::uint32_t rising = 0;

  double fill() const {
    return rising == 0 ? std::numeric_limits<double>::infinity() : std::max(least, left) / weight;
  }
};

/// The loads again, with links numbered by first use.
struct UsedLinks {
  std::vector<Level> levels;
  std::vector<std::uint32_t> place;  // [flow's first load + load]
  std::vector<std::size_t> first;    // [flow]
};

UsedLinks used_links(std::span<const double> capacity, std::span<const FlowDemand> flows) {
  UsedLinks used;
  std::unordered_map<std::uint32_t, std::uint32_t> places;
  for (const FlowDemand& flow : flows) {
    CHECK(flow.own_rate > 0, "a flow has a rate");
    CHECK(!flow.loads.empty() || std::isfinite(flow.own_rate), "something bounds every flow");
    used.first.push_back(used.place.size());
    for (const LinkLoad& load : flow.loads) {
      CHECK(load.link < capacity.size(), "a flow's link exists");
      CHECK(load.weight > 0 && std::isfinite(load.weight), "a flow loads its links");
      const auto [it, added] =
          places.try_emplace(load.link, static_cast<std::uint32_t>(used.levels.size()));
      if (added) {
        CHECK(capacity[load.link] > 0, "a link that is used carries something");
        used.levels.push_back(
            {.left = capacity[load.link], .least = capacity[load.link] * kRounding});
      }
      Level& level = used.levels[it->second];
      level.weight += load.weight;
      ++level.rising;
      used.place.push_back(it->second);
    }
  }
  return used;
}

class Filling {
 public:
  Filling(std::span<const double> capacity, std::span<const FlowDemand> flows)
      : flows_(flows), used_(used_links(capacity, flows)), rates_(flows.size(), 0.0) {
    for (std::size_t f = 0; f < flows.size(); ++f) rising_.push_back(f);
  }

  std::vector<double> run() {
    while (!rising_.empty()) {
      const double full = lowest_fill();
      double least_own = std::numeric_limits<double>::infinity();
      for (const std::size_t f : rising_) least_own = std::min(least_own, flows_[f].own_rate);
      if (least_own <= full * (1 + kRounding)) {
        settle([&](std::size_t f) {
          return flows_[f].own_rate <= full * (1 + kRounding) ? flows_[f].own_rate : 0.0;
        });
      } else {
        settle([&](std::size_t f) { return touches_full_link(f, full) ? full : 0.0; });
      }
    }
    return std::move(rates_);
  }

 private:
  double lowest_fill() const {
    double lowest = std::numeric_limits<double>::infinity();
    for (const Level& level : used_.levels) lowest = std::min(lowest, level.fill());
    return lowest;
  }

  bool touches_full_link(std::size_t f, double fill) const {
    for (std::size_t i = 0; i < flows_[f].loads.size(); ++i) {
      if (fills_[used_.place[used_.first[f] + i]] <= fill) return true;
    }
    return false;
  }

  /// Gives the flows for which `rate_of` is not 0 that rate. What counts is the state before any of
  /// them settles, so their order does not matter.
  template <class RateOf>
  void settle(RateOf rate_of) {
    fills_.clear();
    for (const Level& level : used_.levels) fills_.push_back(level.fill());
    std::vector<std::size_t> still;
    for (const std::size_t f : rising_) {
      rates_[f] = rate_of(f);
      if (rates_[f] == 0.0) {
        still.push_back(f);
        continue;
      }
      for (std::size_t i = 0; i < flows_[f].loads.size(); ++i) {
        Level& level = used_.levels[used_.place[used_.first[f] + i]];
        level.left -= rates_[f] * flows_[f].loads[i].weight;
        level.weight -= flows_[f].loads[i].weight;
        --level.rising;
      }
    }
    CHECK(still.size() < rising_.size(), "every level settles a flow");
    rising_ = std::move(still);
  }

  std::span<const FlowDemand> flows_;
  UsedLinks used_;
  std::vector<double> rates_;
  std::vector<std::size_t> rising_;
  std::vector<double> fills_;  // [used link] when the current level was reached
};

}  // namespace

std::vector<double> fair_rates(std::span<const double> capacity,
                               std::span<const FlowDemand> flows) {
  return Filling(capacity, flows).run();
}

}  // namespace windtunnel
