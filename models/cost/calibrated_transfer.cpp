#include "models/cost/shared_memory_cost.h"

#include <cmath>

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
constexpr double kMostSigma = 1.5;

/// The curve nearest in ranks; of the kind alone, or of any.
const CollectiveCurve* nearest(const Profile& profile, int ranks, const CommKind* kind) {
  const CollectiveCurve* best = nullptr;
  double least = 0.0;
  for (const CollectiveCurve& curve : profile.curves) {
    if (kind != nullptr && curve.kind != *kind) continue;
    const double distance = std::abs(std::log(static_cast<double>(curve.ranks) / ranks));
    if (best != nullptr && distance >= least) continue;
    best = &curve;
    least = distance;
  }
  return best;
}

double moved(CommKind kind, int ranks) {
  return ranks * busbw_factor(kind, ranks);
}

double doublings_beyond(const CollectiveCurve& curve, double bytes) {
  if (bytes > curve.points.back().first) return std::log2(bytes / curve.points.back().first);
  if (bytes < curve.points.front().first) return std::log2(curve.points.front().first / bytes);
  return 0.0;
}

}  // namespace

OpCost shared_memory_cost(const Profile& profile, const CollectiveQuery& query) {
  const int ranks = query.placement.ranks;
  OpCost cost{.cls = CostClass::shared_memory};
  if (ranks <= 1 || query.bytes <= 0) return cost;
  const CollectiveCurve* curve = nearest(profile, ranks, &query.kind);
  const bool same_kind = curve != nullptr;
  if (!same_kind) curve = nearest(profile, ranks, nullptr);
  CHECK(curve != nullptr, "programs with transfers need a profile with curves");
  const bool same_ranks = curve->ranks == ranks;
  const auto bytes = static_cast<double>(query.bytes);
  const double beyond = doublings_beyond(*curve, bytes);
  cost.time = interpolate(*curve, bytes);
  cost.sigma = std::hypot(curve->sigma, kBeyondPerDoubling * beyond);
  cost.origin = {beyond > 0.0 ? Basis::near : Basis::measured, curve->source};
  if (same_kind && same_ranks) return cost;
  cost.time = cost.time * (moved(query.kind, ranks) / moved(curve->kind, curve->ranks));
  const double other = same_kind ? kOtherRanksSigma : kOtherKindSigma;
  cost.sigma = std::min(kMostSigma, std::hypot(cost.sigma, other));
  cost.origin.basis = same_kind ? Basis::near : Basis::assumed;
  return cost;
}

}  // namespace windtunnel
