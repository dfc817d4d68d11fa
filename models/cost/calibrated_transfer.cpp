#include "models/cost/calibrated_transfer.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/check.h"
#include "models/cost/collective_algebra.h"
#include "models/cost/collective_cost.h"

namespace windtunnel {

namespace {

// Assumed, there is no public figure: a curve is followed beyond its end by latency or bandwidth
// alone, which is a worse guess with each doubling; other counts of ranks compete for processors in
// ways their bytes do not tell; another kind of transfer is another algorithm.
constexpr double kBeyondPerDoubling = 0.1;
constexpr double kOtherRanksSigma = 0.3;
constexpr double kOtherKindSigma = 0.5;
constexpr double kOtherWiresSigma = 1.5;  // memory says nothing of a network
constexpr double kMostSigma = 1.5;

using Distance = std::tuple<bool, bool, double, double>;  // the least is the nearest

/// Inside a node or over nodes first, then of the kind, then by nodes and ranks.
Distance distance(const CollectiveCurve& curve, const CollectiveQuery& query) {
  const Placement& p = query.placement;
  const auto apart = [](int a, int b) { return std::abs(std::log(static_cast<double>(a) / b)); };
  return {(curve.nodes > 1) != (p.nodes > 1), curve.kind != query.kind, apart(curve.nodes, p.nodes),
          apart(curve.ranks, p.ranks)};
}

const CollectiveCurve* nearest(const Profile& profile, const CollectiveQuery& query) {
  const CollectiveCurve* best = nullptr;
  for (const CollectiveCurve& curve : profile.curves) {
    if (best == nullptr || distance(curve, query) < distance(*best, query)) best = &curve;
  }
  return best;
}

double moved(CommKind kind, int ranks, int nodes) {
  return (nodes > 1 ? 1 : ranks) * busbw_factor(kind, ranks);
}

/// Of a size between two points, between theirs; beyond the curve that of its end.
CallNoise noise_at(const CollectiveCurve& curve, double bytes) {
  if (curve.noise.empty()) return {};
  const auto above = std::lower_bound(
      curve.points.begin(), curve.points.end(), bytes,
      [](const std::pair<double, double>& point, double b) { return point.first < b; });
  if (above == curve.points.begin()) return curve.noise.front();
  if (above == curve.points.end()) return curve.noise.back();
  const auto i = static_cast<std::size_t>(above - curve.points.begin());
  const double low = curve.points[i - 1].first;
  const double t = std::log(bytes / low) / std::log(above->first / low);
  return {.sigma = std::lerp(curve.noise[i - 1].sigma, curve.noise[i].sigma, t),
          .early = std::lerp(curve.noise[i - 1].early, curve.noise[i].early, t)};
}

double doublings_beyond(const CollectiveCurve& curve, double bytes) {
  if (bytes > curve.points.back().first) return std::log2(bytes / curve.points.back().first);
  if (bytes < curve.points.front().first) return std::log2(curve.points.front().first / bytes);
  return 0.0;
}

}  // namespace

OpCost calibrated_transfer_cost(const Profile& profile, const CollectiveQuery& query) {
  const auto [ranks, nodes] = std::pair(query.placement.ranks, query.placement.nodes);
  OpCost cost{.cls = nodes > 1 ? CostClass::network : CostClass::shared_memory};
  if (ranks <= 1 || query.bytes <= 0) return cost;
  const CollectiveCurve* curve = nearest(profile, query);
  CHECK(curve != nullptr, "programs with transfers need a profile with curves");
  const bool same_kind = curve->kind == query.kind;
  const bool same_ranks = curve->ranks == ranks && curve->nodes == nodes;
  const auto bytes = static_cast<double>(query.bytes);
  const double beyond = doublings_beyond(*curve, bytes);
  cost.time = interpolate(*curve, bytes);
  cost.sigma = std::hypot(curve->sigma, kBeyondPerDoubling * beyond);
  cost.origin = {beyond > 0.0 ? Basis::near : Basis::measured, curve->source};
  cost.noise = noise_at(*curve, bytes);
  if (same_kind && same_ranks) return cost;
  cost.time = cost.time * (moved(query.kind, ranks, curve->nodes) /
                           moved(curve->kind, curve->ranks, curve->nodes));
  const bool same_wires = (curve->nodes > 1) == (nodes > 1);
  const double other = !same_wires ? kOtherWiresSigma
                       : same_kind ? kOtherRanksSigma
                                   : kOtherKindSigma;
  cost.sigma = std::min(kMostSigma, std::hypot(cost.sigma, other));
  cost.origin.basis = same_kind && same_wires ? Basis::near : Basis::assumed;
  return cost;
}

}  // namespace windtunnel
