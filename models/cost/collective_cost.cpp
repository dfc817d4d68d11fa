#include "models/cost/collective_cost.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "models/cost/collective_algebra.h"

namespace windtunnel {

namespace {

constexpr double kCorrectedSigma = 0.08;  // the ratio at another kind or size of group
constexpr double kTunerSigma = 0.15;      // NCCL's estimate alone: reference errors 10-40 %
// Over nodes below 64 MiB published curves differ by 2-4 times between fabrics of equal NICs
// (stas00/ml-engineering network benchmarks @744d01e: EFA 378 us, an unnamed one 119 us for 1 MiB).
constexpr double kSmallNetworkSigma = 0.5;
constexpr double kSmallNetworkBytes = 64.0 * (1 << 20);
constexpr double kTransferSigma = 0.15;

constexpr double kLeastMessage = 256.0;  // bytes: below this only latency is left

// Shares of the link's rate that an all-to-all reaches at size: SimAI's measured ratios, 8 GiB
// (aliyun/SimAI @cef83f9 inputs/ratio): 0.78 of NVLink in a node, 0.94 of the NIC over nodes.
constexpr double kAllToAllNvlink = 0.78;
constexpr double kAllToAllNetwork = 0.94;
// One transfer with nothing in flight: NCCL 2.30.7 tuning.cc hop latencies of Simple plus its base.
constexpr double kTransferNvlinkUs = 8.4 + 3.4;
constexpr double kTransferNetworkUs = 8.4 + 14.0;

bool inside_curve(const CollectiveCurve& c, double bytes) {
  return bytes >= c.points.front().first && bytes <= c.points.back().first;
}

/// A curve over a network is of the adapters it was measured on, all of their rate.
bool network_is_slower(const Placement& p, const CollectiveCurve& c) {
  return p.oversubscription > 1.0 || p.nic_bandwidth.value < c.nic_bandwidth;
}

const CollectiveCurve* matching_curve(const Profile& profile, const CollectiveQuery& q) {
  const Placement& p = q.placement;
  const Reach reach = reach_of(p);
  if (reach == Reach::pcie) return nullptr;
  for (const CollectiveCurve& c : profile.curves) {
    if (c.kind != q.kind || c.ranks != p.ranks) continue;
    if (reach == Reach::nvlink
            ? c.network == NetworkType::none
            : c.network == p.network && c.nodes == p.nodes && !network_is_slower(p, c)) {
      return &c;
    }
  }
  return nullptr;
}

/// The all-reduce curve inside one island nearest in ranks; null when the device has none.
const CollectiveCurve* nearest_curve(const Profile& profile, int ranks) {
  const CollectiveCurve* best = nullptr;
  double least = 0.0;
  for (const CollectiveCurve& c : profile.curves) {
    if (c.kind != CommKind::all_reduce || c.network != NetworkType::none) continue;
    const double d = std::abs(std::log(static_cast<double>(c.ranks) / ranks));
    if (best == nullptr || d < least) {
      best = &c;
      least = d;
    }
  }
  return best;
}

const CollectiveCurve* longest_curve(const Profile& profile) {
  const CollectiveCurve* best = nullptr;
  for (const CollectiveCurve& c : profile.curves) {
    if (c.kind != CommKind::all_reduce || c.network != NetworkType::none) continue;
    if (best == nullptr || c.points.back().first > best->points.back().first) best = &c;
  }
  return best;
}

/// measured / estimate of a curve at a size inside it.
double ratio_at(const Profile& profile, const CollectiveCurve& curve, double bytes) {
  const double at = std::clamp(bytes, curve.points.front().first, curve.points.back().first);
  const Placement p{.ranks = curve.ranks, .per_node = curve.ranks, .per_domain = curve.ranks};
  const CollectiveQuery q{CommKind::all_reduce, static_cast<std::int64_t>(at), p};
  return interpolate(curve, at).value /
         nccl_estimate(nccl_links(profile, p), nccl_group(q)).time.value;
}

/// The correction of the tuner inside one island.
double island_ratio(const Profile& profile, int ranks, double bytes) {
  const CollectiveCurve* near = nearest_curve(profile, ranks);
  if (near == nullptr) return 1.0;
  double ratio = ratio_at(profile, *near, bytes);
  const CollectiveCurve* far = longest_curve(profile);
  if (far != near && bytes > near->points.back().first) {
    ratio *= ratio_at(profile, *far, bytes) / ratio_at(profile, *far, near->points.back().first);
  }
  return ratio;
}

/// The corrected estimate, made monotone: the running maximum over powers of two, log-log between
/// them. The ratio carries the noise of the measurements it comes from.
Seconds island_time(const Profile& profile, const CollectiveQuery& query) {
  const auto corrected = [&](double bytes) {
    CollectiveQuery at = query;
    at.bytes = static_cast<std::int64_t>(bytes);
    return nccl_estimate(nccl_links(profile, at.placement), nccl_group(at)).time.value *
           island_ratio(profile, at.placement.ranks, bytes);
  };
  const auto size = static_cast<double>(query.bytes);
  double below = kLeastMessage;
  double time_below = corrected(below);
  if (size <= below) return {time_below};
  while (2.0 * below <= size) {
    below *= 2.0;
    time_below = std::max(time_below, corrected(below));
  }
  const double time_above = std::max(time_below, corrected(2.0 * below));
  const double t = std::log2(size / below);
  return {std::exp((1.0 - t) * std::log(time_below) + t * std::log(time_above))};
}

OpCost all_to_all_cost(const Profile& profile, const CollectiveQuery& q) {
  const Placement& p = q.placement;
  const double n = p.ranks;
  const auto size = static_cast<double>(q.bytes);
  const Reach reach = reach_of(p);
  const Figure& inside =
      reach == Reach::pcie ? profile.links.pcie_bandwidth : profile.links.copy_bandwidth;
  double seconds =
      size * (std::min(p.per_domain, p.ranks) - 1) / n / (inside.value * kAllToAllNvlink);
  double latency_us = kTransferNvlinkUs;
  if (reach == Reach::pcie) seconds = size * (n - 1) / n / (inside.value * kAllToAllNvlink);
  if (reach == Reach::network) {
    const double rate = group_network_bandwidth(profile, p).value / p.per_domain;
    seconds = std::max(seconds, size * (n - p.per_domain) / n / (rate * kAllToAllNetwork));
    latency_us = kTransferNetworkUs + extra_network_us(p);
  }
  return {.time = {seconds + latency_us * 1e-6},
          .cls = reach == Reach::network ? CostClass::network : CostClass::nvlink,
          .sigma = kTransferSigma,
          .origin = {Basis::modelled, inside.source}};
}

/// A transfer between nodes from a curve measured alone on another NIC: the part that streams goes
/// at the curve's share of this NIC, or at the pair's part of a shared one, whichever is less. A
/// single flow does not fill its NIC, several together do.
double scaled_to_nic(const Profile& profile, const CollectiveQuery& q, const CollectiveCurve& c) {
  const auto size = static_cast<double>(q.bytes);
  const double fixed = c.points.front().second;
  const double streaming = std::max(0.0, interpolate(c, size).value - fixed);
  const auto& [largest, longest] = c.points.back();
  const double reached = largest / (longest - fixed);  // B/s of the streaming part
  const Placement& p = q.placement;
  const double nics = std::max(1.0, static_cast<double>(p.nics_per_node) / p.devices_per_node);
  const double alone =
      reached / c.nic_bandwidth * nics * p.nic_bandwidth.value / p.oversubscription;
  return fixed + extra_network_us(p) * 1e-6 +
         streaming * reached / std::min(alone, pair_network_bandwidth(profile, p).value);
}

/// Without a curve: latency plus bytes over the pair's link.
OpCost transfer_cost(const Profile& profile, const CollectiveQuery& q) {
  const Reach reach = reach_of(q.placement);
  const auto size = static_cast<double>(q.bytes);
  OpCost cost{.cls = reach == Reach::network ? CostClass::network : CostClass::nvlink,
              .sigma = kTransferSigma};
  for (const CollectiveCurve& c : profile.curves) {
    if (c.kind != CommKind::send_recv || reach == Reach::pcie) continue;
    if ((c.network == NetworkType::none) != (reach == Reach::nvlink)) continue;
    double seconds = interpolate(c, size).value;
    if (reach == Reach::network) seconds = scaled_to_nic(profile, q, c);
    cost.time = {seconds};
    cost.sigma = reach == Reach::network ? kTransferSigma : c.sigma;
    cost.origin = {reach == Reach::network ? Basis::near : Basis::measured, c.source};
    return cost;
  }
  const Figure& link =
      reach == Reach::pcie ? profile.links.pcie_bandwidth : profile.links.copy_bandwidth;
  const double rate =
      reach == Reach::network ? pair_network_bandwidth(profile, q.placement).value : link.value;
  const double latency_us = reach == Reach::network
                                ? kTransferNetworkUs + extra_network_us(q.placement)
                                : kTransferNvlinkUs;
  cost.time = {size / rate + latency_us * 1e-6};
  cost.origin = {Basis::modelled, link.source};
  return cost;
}

}  // namespace

Seconds interpolate(const CollectiveCurve& curve, double bytes) {
  CHECK(!curve.points.empty(), "the loader refuses a curve without points");
  const auto& points = curve.points;
  if (bytes <= points.front().first) return {points.front().second};
  if (bytes >= points.back().first) return {points.back().second * bytes / points.back().first};
  const auto above =
      std::lower_bound(points.begin(), points.end(), bytes,
                       [](const std::pair<double, double>& p, double b) { return p.first < b; });
  const auto below = above - 1;
  const double t = std::log(bytes / below->first) / std::log(above->first / below->first);
  return {std::exp((1.0 - t) * std::log(below->second) + t * std::log(above->second))};
}

OpCost collective_cost(const Profile& profile, const CollectiveQuery& query) {
  const Placement& p = query.placement;
  const Reach reach = reach_of(p);
  const CostClass cls = reach == Reach::network ? CostClass::network : CostClass::nvlink;
  if (p.ranks <= 1 || query.bytes <= 0) return {.cls = cls, .origin = {Basis::exact, 0}};
  // Every member of a shift sends and receives at once: one direction of its link each.
  if (is_message(query.kind)) return transfer_cost(profile, query);
  if (query.kind == CommKind::all_to_all) return all_to_all_cost(profile, query);
  const auto size = static_cast<double>(query.bytes);
  if (const CollectiveCurve* c = matching_curve(profile, query);
      c != nullptr && inside_curve(*c, size)) {
    return {.time = interpolate(*c, size),
            .cls = cls,
            .sigma = c->sigma,
            .origin = {Basis::measured, c->source}};
  }
  if (reach != Reach::nvlink) {
    return {.time = nccl_estimate(nccl_links(profile, p), nccl_group(query)).time,
            .cls = cls,
            .sigma = reach == Reach::network && size < kSmallNetworkBytes ? kSmallNetworkSigma
                                                                          : kTunerSigma,
            .origin = {Basis::modelled, profile.links.nvlink_bandwidth.source}};
  }
  const CollectiveCurve* near = nearest_curve(profile, p.ranks);
  return {.time = island_time(profile, query),
          .cls = cls,
          .sigma = near != nullptr ? kCorrectedSigma : kTunerSigma,
          .origin = near != nullptr
                        ? Origin{Basis::near, near->source}
                        : Origin{Basis::modelled, profile.links.nvlink_bandwidth.source}};
}

}  // namespace windtunnel
