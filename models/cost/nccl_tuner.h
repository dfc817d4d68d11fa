#pragma once
// NCCL's own estimate of a collective: latency plus bytes over bandwidth, for each algorithm and
// protocol it may choose, and the least of them.
//
//   time = latency(algorithm, protocol, ranks, islands) + bytes steps / (ranks bus bandwidth)
//
// Constants and rules are those of NCCL 2.30.7 (@5067397c) src/graph/tuning.cc and topo.h: base and
// hop latencies, protocol caps, tree size factors, NVLS latency. An island is an NVLink domain (or
// a node without one); islands talk through NICs. Plateaus agree with measurements within 2 % on
// A100 and H100; at 1-64 MiB the estimate is 20-40 % short, which collective_cost corrects.
// Units inside: microseconds and GB/s, as in NCCL.

#include "models/cost/cost_model.h"

namespace windtunnel {

enum class NcclAlgorithm : std::uint8_t { ring, tree, nvls, nvls_tree };
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
enum class GpuGeneration : std::uint8_t { volta, ampere, hopper, blackwell };

/// The links a group sees.
struct NcclLinks {
  GpuGeneration generation = GpuGeneration::ampere;
  double channels = 24;
  double intra_gbps = 0.0;  // bus bandwidth inside an island, GB/s
  double nvls_gbps = 0.0;   // all-reduce bus bandwidth with in-switch reduction of 8 ranks; 0: none
  double inter_gbps = 0.0;  // bus bandwidth between islands, all rings together, GB/s
  bool nvlink = true;       // else PCIe inside an island
  double extra_net_us = 0.0;  // added to NCCL's 14 us per network hop
};

struct NcclGroup {
  CommKind kind = CommKind::all_reduce;
  double bytes = 0.0;
  int ranks = 1, islands = 1, per_island = 1;
};

struct NcclEstimate {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  Seconds time{};
};

/// The fastest allowed choice. Precondition: ranks >= 2; kind is all_reduce, all_gather,
/// reduce_scatter or broadcast.
NcclEstimate nccl_estimate(const NcclLinks& links, const NcclGroup& group);

}  // namespace windtunnel
