#include "models/cost/nccl_tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace windtunnel {

namespace {

using PerProtocol = std::array<double, 3>;  // LL, LL128, Simple

// NCCL 2.30.7 src/graph/tuning.cc: baseLatencies and hwLatencies, microseconds.
constexpr PerProtocol kRingBase = {6.6, 14.0, 8.4};
constexpr PerProtocol kTreeBase = {6.8, 14.0, 8.4};
constexpr PerProtocol kRingNvlink = {0.6, 1.9, 3.4};
constexpr PerProtocol kTreeNvlink = {0.6, 1.25, 4.0};
constexpr PerProtocol kRingPcie = {1.0, 2.5, 5.7};
constexpr PerProtocol kTreePcie = {1.0, 1.9, 4.0};
constexpr PerProtocol kRingNet = {2.7, 4.0, 14.0};
constexpr PerProtocol kTreeNet = {5.0, 8.5, 14.0};
constexpr double kNvlsLatency = 25.0;
constexpr double kNvlsTreeNet = 20.9;
constexpr double kNetOverhead = 1.0;           // Intel hosts; Simple pays three times
constexpr double kSimpleOverheadFactor = 3.0;  // same file
constexpr double kRingPlateauLatency = 1.4;    // multi-node ring, Simple, all-reduce
constexpr double kRingPlateauBytes = 64.0;     // per channel and rank

struct GenerationRow {
  double ll_one_node;                             // llMaxBws, GB/s, one node
  double ring_ll128;                              // perChMaxRingLL128Bws, GB/s per channel
  std::array<double, 3> tree_ll128, tree_simple;  // 1 node, 2 nodes, more
};

constexpr std::array kGenerations = {
    GenerationRow{39.0, 20.0, {20.0, 20.0, 20.0}, {26.5, 18.5, 10.0}},
    GenerationRow{87.7, 20.0, {20.0, 20.0, 20.0}, {24.0, 23.6, 17.8}},
    GenerationRow{141.0, 36.7, {36.7, 36.7, 29.0}, {38.7, 41.4, 36.0}},
    GenerationRow{282.0, 40.0, {55.6, 31.67, 20.0}, {70.0, 42.8, 24.0}},
};
// Multi-node LL is capped by the host: the Intel row (AMD hosts: 22.5 and 19).
constexpr std::array kLlMultiNode = {39.0, 39.0, 20.4};

// treeCorrectionFactor, from 64 B in powers of two.
constexpr std::array<std::array<double, 24>, 3> kTreeFactor = {{
    {1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
     0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
     0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0},
    {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
     0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9},
}};

// NVLSTree reaches the NIC's rate twice on two nodes (each byte crosses once) and 310 of 400 GB/s
// on four H200 nodes (stas00/ml-engineering network/README.md @744d01e).
constexpr double kNvlsTreeTwoIslands = 2.0;
constexpr double kNvlsTreeMore = 0.775;
constexpr int kLeastNvlsRanks = 5;  // 4 ranks stay on the ring: same source
constexpr double kNvlsReferenceRanks = 8.0;

std::size_t island_row(int islands) {
  return islands <= 1 ? 0U : islands == 2 ? 1U : 2U;
}

double steps_of(const NcclGroup& g) {
  switch (g.kind) {
    case CommKind::all_reduce:
      return 2.0 * (g.ranks - 1);
    case CommKind::all_gather:
    case CommKind::reduce_scatter:
      return g.ranks - 1;
    default:
      return g.ranks;
  }
}

double ring_us(const NcclLinks& links, const NcclGroup& g, std::size_t protocol) {
  const GenerationRow& row = kGenerations[static_cast<std::size_t>(links.generation)];
  const bool network = g.islands > 1;
  const double bus = network ? std::min(links.intra_gbps, links.inter_gbps) : links.intra_gbps;
  const std::array bandwidth = {
      std::min(network ? kLlMultiNode[island_row(g.islands)] : row.ll_one_node, bus * 0.5),
      std::min(bus * 0.92, links.channels * row.ring_ll128), bus};
  const double steps = steps_of(g);
  const double inter_steps =
      network ? (g.kind == CommKind::all_reduce ? 2.0 : 1.0) * (g.islands - 1) : 0.0;
  double hop = (links.nvlink ? kRingNvlink : kRingPcie)[protocol];
  if (network) {
    hop = std::max(hop, kNetOverhead * (protocol == 2 ? kSimpleOverheadFactor : 1.0));
  }
  // One rank on a node exposes the network's whole latency: the tree's figure.
  const double net_hop = (g.per_island == 1 ? kTreeNet : kRingNet)[protocol];
  double latency = kRingBase[protocol] + std::max(0.0, steps - inter_steps) * hop +
                   inter_steps * (net_hop + links.extra_net_us);
  if (network && protocol == 2 && g.kind == CommKind::all_reduce &&
      g.bytes / (links.channels * g.ranks) >= kRingPlateauBytes) {
    latency *= kRingPlateauLatency;
  }
  return latency + g.bytes * steps / g.ranks / (bandwidth[protocol] * 1e3);
}

double tree_us(const NcclLinks& links, const NcclGroup& g, std::size_t protocol) {
  const GenerationRow& row = kGenerations[static_cast<std::size_t>(links.generation)];
  const bool network = g.islands > 1;
  const std::size_t at = island_row(g.islands);
  const double bus = network ? std::min(links.intra_gbps, links.inter_gbps) : links.intra_gbps;
  const double simple = std::min(bus * 0.92, links.channels * row.tree_simple[at]);
  const std::array bandwidth = {
      std::min(simple / 3.8, network ? kLlMultiNode[at] : row.ll_one_node),
      std::min(simple * (network ? 120.0 / 128.0 : 7.0 / 9.0), links.channels * row.tree_ll128[at]),
      simple};
  const double power = std::clamp(std::log2(std::max(g.bytes, 64.0) / 64.0), 0.0, 23.0);
  const double factor = kTreeFactor[protocol][static_cast<std::size_t>(power)];
  const double latency =
      kTreeBase[protocol] +
      2.0 * ((g.per_island - 1) * (links.nvlink ? kTreeNvlink : kTreePcie)[protocol] +
             std::log2(g.islands) * (kTreeNet[protocol] + links.extra_net_us));
  return latency + g.bytes / (0.5 * bandwidth[protocol] * factor * 1e3);
}

/// Bus bandwidth of in-switch reduction: the rate per rank is fixed, so it goes with (n-1)/n.
double nvls_bus(const NcclLinks& links, int per_island) {
  const double n = per_island;
  return links.nvls_gbps * ((n - 1.0) / n) / ((kNvlsReferenceRanks - 1.0) / kNvlsReferenceRanks);
}

double nvls_us(const NcclLinks& links, const NcclGroup& g) {
  return kNvlsLatency + g.bytes * steps_of(g) / g.ranks / (nvls_bus(links, g.ranks) * 1e3);
}

double nvls_tree_us(const NcclLinks& links, const NcclGroup& g) {
  const double inter = links.inter_gbps * (g.islands == 2 ? kNvlsTreeTwoIslands : kNvlsTreeMore);
  const double bus = std::min(nvls_bus(links, g.per_island), inter);
  return kNvlsLatency + 2.0 * std::log2(g.islands) * (kNvlsTreeNet + links.extra_net_us) +
         g.bytes * steps_of(g) / g.ranks / (bus * 1e3);
}

}  // namespace

NcclEstimate nccl_estimate(const NcclLinks& links, const NcclGroup& group) {
  CHECK(group.ranks >= 2 && group.islands >= 1, "a group of two or more");
  CHECK(links.intra_gbps > 0.0 || group.per_island == 1, "islands have links");
  CHECK(links.inter_gbps > 0.0 || group.islands == 1, "islands are connected");
  NcclLinks used = links;
  if (group.per_island == 1) used.intra_gbps = links.inter_gbps;
  NcclEstimate best{.time = {std::numeric_limits<double>::infinity()}};
  const auto offer = [&best](NcclAlgorithm algorithm, std::size_t protocol, double us) {
    if (us * 1e-6 < best.time.value) {
      best = {algorithm, static_cast<NcclProtocol>(protocol), {us * 1e-6}};
    }
  };
  for (std::size_t protocol = 0; protocol < 3; ++protocol) {
    offer(NcclAlgorithm::ring, protocol, ring_us(used, group, protocol));
  }
  if (group.kind != CommKind::all_reduce) return best;
  // One-node trees exist but NCCL's graph search gives them no advantage over the ring at size.
  for (std::size_t protocol = 0; protocol < 3; ++protocol) {
    if (group.islands > 1) offer(NcclAlgorithm::tree, protocol, tree_us(used, group, protocol));
  }
  if (links.nvls_gbps > 0.0 && group.per_island >= kLeastNvlsRanks) {
    if (group.islands == 1) {
      offer(NcclAlgorithm::nvls, 2, nvls_us(used, group));
    } else {
      offer(NcclAlgorithm::nvls_tree, 2, nvls_tree_us(used, group));
    }
  }
  return best;
}

}  // namespace windtunnel
