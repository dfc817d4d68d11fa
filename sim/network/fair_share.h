#pragma once
// Max-min fair rates of flows that share links.
//
// A flow moves work at one rate x (B/s); on each of its links it loads `weight` bytes per byte of
// work, so a link of capacity C (B/s) demands sum_f weight_f x_f <= C. A flow may also have a rate
// of its own that it never exceeds. Rates are max-min fair when no flow's rate can be raised
// without lowering that of a flow that is no faster. They exist, are unique, and are found by
// filling: raise all rates together; when a link is full, its flows stay where they are; a flow at
// its own rate stays there; go on with the others. Equivalently, every flow is at its own rate or
// has a bottleneck: a full link on which no flow is faster. Source: Bertsekas, Gallager, Data
// Networks (2nd edition), 6.5.2 (there with weights 1).
//
// Fairness compares rates of work, so flows that meet on a link get equal parts of it when work is
// counted in bytes on that link (weight 1). A flow of weight m stands for m equal flows.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace windtunnel {

/// What a flow puts on one link: bytes there per byte of its work.
struct LinkLoad {
  std::uint32_t link = 0;
  double weight = 1.0;

  friend auto operator<=>(const LinkLoad&, const LinkLoad&) = default;
};

struct FlowDemand {
  std::span<const LinkLoad> loads;                            // a link at most once
  double own_rate = std::numeric_limits<double>::infinity();  // B/s
};

/// The rate of each flow in B/s. A flow that the links leave at its own rate gets exactly that
/// number. `capacity` is in B/s by link. Links may be over full by a relative 1e-9: own rates that
/// fill a link together must not be cut by rounding.
/// Preconditions: capacities, weights and own rates are above 0; a flow without links has an own
/// rate. O(flows * loads) at worst, each level of filling passing over the loads once.
std::vector<double> fair_rates(std::span<const double> capacity, std::span<const FlowDemand> flows);

}  // namespace windtunnel
