#pragma once
// A fluid of flows in virtual time: flows that share links move at max-min fair rates, and rates
// change only when a flow begins or ends.
//
//   begin = start + latency                     what is not shared passes first
//   work  = integral of rate(t) dt from begin   rate: fair_rates of the flows between begin and end
//
// Times are integer picoseconds: an end is rounded to the nearest, once. A flow that is at its own
// rate all the time ends at begin + own_time exactly. Ends depend on the set of flows, not on the
// order in which they are given. Only flows connected through links that could be full are solved
// again when one of them begins or ends, so a flow whose links have room for everyone costs
// O(loads + log flows), another fair_rates of its component.

#include <cstddef>
#include <deque>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "core/units.h"
#include "sim/network/fair_share.h"

namespace windtunnel {

struct FluidFlow {
  Picoseconds start = 0;
  Picoseconds latency = 0;
  double work = 0.0;                // bytes; 0: ends when it begins
  Picoseconds own_time = 0;         // least time its work takes; 0: only the links bound its rate
  std::span<const LinkLoad> loads;  // a link at most once; outlives the fluid
};

class Fluid {
 public:
  using FlowId = std::size_t;

  /// Bytes per second of each link. Precondition: that of every used link is above 0.
  explicit Fluid(std::vector<double> capacity);

  /// Preconditions: flow.start >= now(); work and latency are not negative; a flow with work has
  /// links or an own time. Ids count from 0.
  FlowId start(const FluidFlow& flow);

  /// When a flow next begins or ends if no other starts; none: everything has ended. No flow ends
  /// before it.
  std::optional<Picoseconds> next_event();

  /// Precondition: time >= now(). What happens at `time` itself has happened, but for the end of a
  /// flow that begins then and takes less than a picosecond: that is the next event. Flows may
  /// still start at `time`.
  void advance_to(Picoseconds time);

  Picoseconds now() const { return now_; }
  /// When the flow ended; none: it has not.
  std::optional<Picoseconds> end_of(FlowId flow) const;
  /// Flows that have ended since the last call, in the order of their ends.
  std::vector<FlowId> take_ended() { return std::exchange(just_ended_, {}); }
  /// Bytes per second now; 0 before it begins and after it ends.
  double rate_of(FlowId flow);

 private:
  struct State {
    FluidFlow flow;
    Picoseconds begin = 0;
    Picoseconds end = 0;  // expected; final once `ended`
    Picoseconds rate_since = 0;
    double rate = 0.0;          // bytes per second
    double remaining = 0.0;     // bytes, at rate_since
    std::uint32_t changes = 0;  // of the rate: an expected end of before is void
    bool streaming = false, ended = false, reached = false;
  };
  struct Expected {
    Picoseconds time = 0;
    FlowId flow = 0;
    std::uint32_t changes = 0;
    bool operator>(const Expected& other) const { return time > other.time; }
  };
  using Events = std::priority_queue<Expected, std::vector<Expected>, std::greater<>>;

  double own_rate(const FluidFlow& flow) const;
  bool comes_before(FlowId a, FlowId b) const;
  void begin(FlowId id);
  void finish(FlowId id);
  void set_rate(FlowId id, double rate);
  bool could_be_full(std::uint32_t link) const;
  std::vector<FlowId> changed_component();
  void solve();
  void drop_void_ends();

  std::vector<double> capacity_;
  std::deque<State> flows_;
  std::vector<std::vector<FlowId>> on_link_;  // [link] streaming flows, in their own order
  Events begins_, ends_;
  std::vector<FlowId> changed_;     // to be solved before time passes
  std::vector<FlowId> just_ended_;  // not taken yet
  Picoseconds now_ = 0;
};

/// When each of the flows ends.
std::vector<Picoseconds> run_fluid(std::span<const double> capacity,
                                   std::span<const FluidFlow> flows);

}  // namespace windtunnel
