#include "calibrate/ranks/slow_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "calibrate/fit/robust.h"

namespace windtunnel {

namespace {

/// "node of ranks 4 to 7 (host b)".
std::string node_text(int node, const RankPlaces& places) {
  int last = node;
  for (std::size_t r = 0; r < places.node_of_rank.size(); ++r) {
    if (places.node_of_rank[r] == node) last = static_cast<int>(r);
  }
  const std::string ranks =
      last == node ? fmt::format("rank {}", node) : fmt::format("ranks {} to {}", node, last);
  return fmt::format("node of {} (host {})", ranks,
                     places.hosts.at(static_cast<std::size_t>(node)));
}

double lower_quartile(std::vector<double> values) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// Indices and how many times as long as the median they take (of two, as the other).
std::vector<std::pair<std::size_t, double>> slow_ones(std::span<const double> times,
                                                      double slow_from) {
  std::vector<std::pair<std::size_t, double>> slow;
  if (times.size() < 2) return slow;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double usual = times.size() == 2 ? times[1 - i] : median(times);
    const double ratio = times[i] / usual;
    if (ratio > slow_from) slow.emplace_back(i, ratio);
  }
  return slow;
}

}  // namespace

std::string pack_times(std::span<const Sample> samples) {
  std::string packed;
  for (const Sample& s : samples) {
    if (s.kind == SampleKind::kernel) packed += fmt::format("{} {}\n", s.seconds, key_of(s));
  }
  return packed;
}

RankTimes unpack_times(const std::string& packed) {
  RankTimes times;
  std::istringstream lines(packed);
  double seconds = 0.0;
  std::string key;
  while (lines >> seconds && std::getline(lines, key)) times[key] = seconds;
  return times;
}

std::vector<std::string> slow_nodes(std::span<const RankTimes> of_ranks, const RankPlaces& places) {
  std::map<int, std::vector<double>> ratios;  // by node: to the first rank's time, each kernel's
  for (std::size_t r = 0; r < of_ranks.size(); ++r) {
    for (const auto& [key, seconds] : of_ranks[r]) {
      const auto first = of_ranks.front().find(key);
      if (first == of_ranks.front().end() || first->second <= 0.0) continue;
      ratios[places.node_of_rank.at(r)].push_back(seconds / first->second);
    }
  }
  std::vector<int> nodes;
  std::vector<double> times;
  for (const auto& [node, of_node] : ratios) {
    nodes.push_back(node);
    times.push_back(median(of_node));
  }
  std::vector<std::string> lines;
  for (const auto& [i, ratio] : slow_ones(times, kSlowNode)) {
    lines.push_back(fmt::format("{}: kernels take {:.2f} times as long as usual",
                                node_text(nodes[i], places), ratio));
  }
  return lines;
}

std::vector<std::string> slow_groups(const std::string& kind,
                                     std::span<const std::vector<int>> groups,
                                     std::span<const std::vector<double>> seconds,
                                     const RankPlaces& places) {
  std::vector<std::string> lines;
  const std::set<int> all_nodes(places.node_of_rank.begin(), places.node_of_rank.end());
  if (all_nodes.size() < 2) return lines;
  std::vector<double> medians, quartiles;
  for (const std::vector<double>& of_group : seconds) {
    medians.push_back(median(of_group));
    quartiles.push_back(lower_quartile(of_group));
  }
  for (const auto& [i, ratio] : slow_ones(medians, kSlowGroup)) {
    if (quartiles[i] * ratio <= medians[i] * kSlowGroup) continue;
    std::set<int> nodes;
    for (const int rank : groups[i]) {
      nodes.insert(places.node_of_rank.at(static_cast<std::size_t>(rank)));
    }
    std::string between;
    for (const int node : nodes) {
      if (!between.empty()) between += ", ";
      between += node_text(node, places);
    }
    lines.push_back(fmt::format("{} of ranks {}: {:.2f} times as long as usual ({})", kind,
                                fmt::join(groups[i], ", "), ratio, between));
  }
  return lines;
}

}  // namespace windtunnel
