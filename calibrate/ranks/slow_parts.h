#pragma once
// Nodes and links that take longer than the others for the same work: a calibration's kernels are
// those of its first rank, and a step waits for the slowest.
//
// Slow hosts of MegaScale (Jiang et al., NSDI 2024) were 10 % slower: named is a node that is half
// as much over the median of the others. Transfers vary more, so a group is from 10 % on.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "calibrate/sample.h"

namespace windtunnel {

constexpr double kSlowNode = 1.05, kSlowGroup = 1.1;

/// Where the ranks of a world are.
struct RankPlaces {
  std::vector<std::string> hosts;  // by rank, the name that the system gives; on rank 0 alone
  std::vector<int> node_of_rank;   // the node's first rank
};

/// Seconds of one run by what was measured (key_of), of one rank's kernels.
using RankTimes = std::map<std::string, double>;
std::string pack_times(std::span<const Sample> samples);
RankTimes unpack_times(const std::string& packed);

/// A line per slow node: what its ranks' kernels take, in the median over kernels and ranks,
/// against the median node. Nothing of a single node.
std::vector<std::string> slow_nodes(std::span<const RankTimes> of_ranks, const RankPlaces& places);

/// A line per group of ranks whose transfers take longer than the median group's, and not now and
/// then: so do three quarters of them. Nothing on a single node. `seconds`: by group, repetitions.
std::vector<std::string> slow_groups(const std::string& kind,
                                     std::span<const std::vector<int>> groups,
                                     std::span<const std::vector<double>> seconds,
                                     const RankPlaces& places);

}  // namespace windtunnel
