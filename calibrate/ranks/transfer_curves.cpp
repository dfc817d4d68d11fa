#include "calibrate/ranks/transfer_curves.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "calibrate/measure/transfer_timing.h"

namespace windtunnel {

namespace {

/// The nearest size of which every member has an equal part of whole numbers.
std::int64_t divisible(std::int64_t bytes, int ranks) {
  const std::int64_t part = ranks * bytes_of(WireType::fp32);
  return std::max<std::int64_t>(1, bytes / part) * part;
}

int nodes_of(const std::vector<std::vector<int>>& groups, const std::vector<int>& node_of_rank) {
  std::size_t most = 1;
  for (const std::vector<int>& group : groups) {
    std::set<int> nodes;
    for (const int rank : group) nodes.insert(node_of_rank.at(static_cast<std::size_t>(rank)));
    most = std::max(most, nodes.size());
  }
  return static_cast<int>(most);
}

}  // namespace

const std::vector<int>* Curve::group_of(int rank) const {
  for (const std::vector<int>& group : groups) {
    if (std::find(group.begin(), group.end(), rank) != group.end()) return &group;
  }
  return nullptr;
}

std::vector<Curve> curves_for(std::span<const TransferUse> uses,
                              const std::vector<int>& node_of_rank) {
  std::vector<Curve> curves;
  struct OfCurve {
    std::size_t index = 0;
    std::vector<std::int64_t> bytes{};
  };
  std::map<std::tuple<CommKind, int, int>, OfCurve> found;
  for (const TransferUse& use : uses) {
    if (use.groups.back().back() >= static_cast<int>(node_of_rank.size())) continue;
    const int nodes = nodes_of(use.groups, node_of_rank);
    const auto [place, is_new] =
        found.try_emplace({use.kind, use.ranks(), nodes}, OfCurve{.index = curves.size()});
    if (is_new) {
      curves.push_back({.kind = use.kind,
                        .ranks = use.ranks(),
                        .nodes = nodes,
                        .groups = use.groups,
                        .communicator = static_cast<int>(curves.size()) + 1});
    }
    place->second.bytes.push_back(use.bytes());
    Curve& curve = curves[place->second.index];
    curve.part = std::max(curve.part, use.part);
    curve.touched_bytes = std::max(curve.touched_bytes, use.touched_bytes);
  }
  for (Curve& curve : curves) {
    for (const std::int64_t size :
         transfer_sizes(found.at({curve.kind, curve.ranks, curve.nodes}).bytes)) {
      const std::int64_t whole = divisible(size, curve.ranks);
      if (curve.bytes.empty() || curve.bytes.back() != whole) curve.bytes.push_back(whole);
    }
  }
  return curves;
}

}  // namespace windtunnel
