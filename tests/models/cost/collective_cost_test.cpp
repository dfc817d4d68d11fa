// Are collectives priced as measured where they were, sanely where they were not?

#include "models/cost/collective_cost.h"

#include <gtest/gtest.h>

#include "models/cost/collective_algebra.h"

namespace windtunnel {
namespace {

constexpr double kRoundedPoint = 2e-3;  // microseconds in the profile have two digits

Placement inside(int ranks) {
  return {.ranks = ranks, .per_node = ranks, .per_domain = ranks, .devices_per_node = 8};
}

/// `per_node` members on each of `nodes` nodes with eight devices and `nics` NICs.
Placement across(int nodes, int per_node, int nics, double gbit) {
  return {.ranks = nodes * per_node,
          .nodes = nodes,
          .per_node = per_node,
          .domains = nodes,
          .per_domain = per_node,
          .groups_sharing_nics = 8 / per_node,
          .devices_per_node = 8,
          .nics_per_node = nics,
          .nic_bandwidth = {gbit * 1e9 / 8},
          .network = NetworkType::ib};
}

double busbw(const Profile& p, CommKind kind, std::int64_t bytes, const Placement& place) {
  const CollectiveQuery q{kind, bytes, place};
  return bus_bandwidth(q, collective_cost(p, q).time).value / 1e9;
}

TEST(CollectiveCost, AMeasuredPointIsReturned) {
  const Profile p = load_public_profile("a100-sxm-80gb");
  EXPECT_NEAR(busbw(p, CommKind::all_reduce, 1073741824, inside(8)) / 228.80, 1.0, kRoundedPoint);
  EXPECT_NEAR(busbw(p, CommKind::all_reduce, 67108864, inside(8)) / 202.78, 1.0, kRoundedPoint);
  const OpCost c = collective_cost(p, {CommKind::all_reduce, 67108864, inside(8)});
  EXPECT_EQ(c.origin.basis, Basis::measured);
  EXPECT_EQ(c.cls, CostClass::nvlink);
}

TEST(CollectiveCost, TimeNeverFallsWithSize) {
  for (const std::string& device : public_profile_devices()) {
    const Profile p = load_public_profile(device);
    for (const Placement& place : {inside(2), inside(3), inside(8), across(2, 8, 8, 200),
                                   across(16, 1, 4, 200), across(16, 8, 8, 400)}) {
      for (const CommKind kind :
           {CommKind::all_reduce, CommKind::all_gather, CommKind::reduce_scatter,
            CommKind::all_to_all, CommKind::broadcast, CommKind::send_recv}) {
        if (kind == CommKind::send_recv && place.ranks != 2) continue;
        double before = 0.0;
        for (std::int64_t bytes = 256; bytes <= std::int64_t{1} << 34; bytes *= 2) {
          const double t = collective_cost(p, {kind, bytes, place}).time.value;
          EXPECT_GE(t, before * (1.0 - 1e-12))
              << device << " " << name_of(kind) << " ranks " << place.ranks << " bytes " << bytes;
          before = t;
        }
      }
    }
  }
}

TEST(CollectiveCost, GathersCostHalfAnAllReduceOnARing) {
  const Profile p = load_public_profile("a100-sxm-80gb");
  constexpr std::int64_t kSize = 256 << 20;
  const double reduce = collective_cost(p, {CommKind::all_reduce, kSize, inside(8)}).time.value;
  const double gather = collective_cost(p, {CommKind::all_gather, kSize, inside(8)}).time.value;
  EXPECT_NEAR(gather / reduce, 0.5, 0.02);  // latency terms do not halve exactly
}

TEST(CollectiveCost, PublishedPlateausOverNodes) {
  const Profile a100 = load_public_profile("a100-sxm-80gb");
  constexpr std::int64_t kLarge = std::int64_t{8} << 30;
  // DGX A100, 8 x 200G HDR, 16 ranks: 192 GB/s (nccl#812); 4 x 200G: 91 (nccl-tests#100).
  EXPECT_NEAR(busbw(a100, CommKind::all_reduce, kLarge, across(2, 8, 8, 200)) / 192, 1.0, 0.03);
  EXPECT_NEAR(busbw(a100, CommKind::all_reduce, kLarge, across(2, 8, 4, 200)) / 91, 1.0, 0.06);
  // H200, 4 nodes, ring: 365 GB/s (stas00/ml-engineering), limited by NVLink.
  const Profile h200 = load_public_profile("h200-sxm-141gb");
  EXPECT_NEAR(busbw(h200, CommKind::all_reduce, kLarge, across(4, 8, 8, 400)) / 365, 1.0, 0.03);
}

TEST(CollectiveCost, TwoNodesBySize) {
  // 16 A100 on two nodes, 8 x HDR: the slower of two runs (JingchaoZhang/AML_NCCL_Test,
  // facebookresearch/gcm), us. Nothing in the profile comes from them.
  const Profile p = load_public_profile("a100-sxm-80gb");
  const std::pair<std::int64_t, double> measured[] = {
      {64, 957}, {128, 1740}, {256, 2975}, {512, 5745}, {1024, 11080}};
  constexpr double kUnseen = 0.20;  // below the class's 15 % and the tuner's own
  for (const auto& [mib, us] : measured) {
    const CollectiveQuery q{CommKind::all_reduce, mib << 20, across(2, 8, 8, 200)};
    EXPECT_NEAR(collective_cost(p, q).time.value * 1e6 / us, 1.0, kUnseen) << mib << " MiB";
  }
}

TEST(CollectiveCost, EfficiencyBySizeAgreesWithSimAi) {
  // Share of the ideal 16-node ring over NICs by total size (aliyun/SimAI inputs/ratio, "partly
  // hand-set", and without the LL128 protocol that NCCL takes at 1-4 MiB per rank): the latency
  // terms alone must reproduce its shape.
  const Profile p = load_public_profile("h100-sxm-80gb");
  struct Row {
    std::int64_t mib;
    double ratio;
  };
  constexpr double kTableSpread = 0.18;
  for (const Row row : {Row{256, 0.57}, Row{512, 0.73}, Row{2048, 0.92}, Row{8192, 0.96}}) {
    const double got = busbw(p, CommKind::all_gather, row.mib << 20, across(16, 8, 8, 200)) / 200.0;
    EXPECT_NEAR(got, row.ratio, kTableSpread) << row.mib << " MiB";
  }
}

TEST(CollectiveCost, GroupsShareTheNicsOfANode) {
  const Profile p = load_public_profile("a100-sxm-80gb");
  constexpr std::int64_t kLarge = std::int64_t{1} << 30;
  const double eight = busbw(p, CommKind::all_reduce, kLarge, across(8, 1, 8, 200));
  const double four = busbw(p, CommKind::all_reduce, kLarge, across(8, 1, 4, 200));
  EXPECT_NEAR(four / eight, 0.5, 0.02);  // two groups on one NIC; latency is the rest
  EXPECT_NEAR(eight, 25.0 * 0.96, 1.5);
}

TEST(CollectiveCost, TransfersUseTheirLink) {
  const Profile p = load_public_profile("h100-sxm-80gb");
  EXPECT_NEAR(busbw(p, CommKind::send_recv, 67108864, inside(2)) / 347.7, 1.0, kRoundedPoint);
  const double ndr = busbw(p, CommKind::send_recv, 67108864, across(2, 1, 8, 400));
  const double hdr = busbw(p, CommKind::send_recv, 67108864, across(2, 1, 8, 200));
  EXPECT_NEAR(ndr / 35.9, 1.0, 0.01);
  EXPECT_NEAR(hdr / ndr, 0.5, 0.02);
  // Two pairs on one NIC fill it between them, which one alone does not.
  const double shared = busbw(p, CommKind::send_recv, 67108864, across(2, 1, 4, 400));
  EXPECT_NEAR(shared / 24.0, 1.0, 0.02);
}

TEST(CollectiveCost, TheNicsOfADeviceCarryItsTransferTogether) {
  const Profile p = load_public_profile("h100-sxm-80gb");
  const double one = busbw(p, CommKind::send_recv, 67108864, across(2, 1, 8, 400));
  const double four = busbw(p, CommKind::send_recv, 67108864, across(2, 1, 32, 100));
  EXPECT_DOUBLE_EQ(four, one);
}

TEST(CollectiveCost, TheNetworksLatencyDelaysTransfers) {
  const Profile p = load_public_profile("h100-sxm-80gb");
  Placement far = across(2, 1, 8, 400);
  const double near = collective_cost(p, {CommKind::send_recv, 1 << 20, far}).time.value;
  far.network_latency = {12e-6};  // 2 us of it are in what was measured
  const double late = collective_cost(p, {CommKind::send_recv, 1 << 20, far}).time.value;
  EXPECT_NEAR(late - near, 10e-6, 1e-12);
}

TEST(CollectiveCost, NothingToDoCostsNothing) {
  const Profile p = load_public_profile("a100-sxm-80gb");
  EXPECT_EQ(collective_cost(p, {CommKind::all_reduce, 1 << 20, inside(1)}).time.value, 0.0);
  EXPECT_EQ(collective_cost(p, {CommKind::all_reduce, 0, inside(8)}).time.value, 0.0);
}

TEST(NcclTuner, PlateauIsTheRing) {
  const NcclLinks a100{.channels = 24, .intra_gbps = 240};
  const NcclGroup group{CommKind::all_reduce, 16e9, 8, 1, 8};
  const NcclEstimate e = nccl_estimate(a100, group);
  EXPECT_EQ(e.algorithm, NcclAlgorithm::ring);
  EXPECT_EQ(e.protocol, NcclProtocol::simple);
  EXPECT_NEAR(16e9 * 1.75 / e.time.value / 240e9, 1.0, 0.002);
}

// NCCL 2.30.7 src/graph/tuning.cc: one rank on a node exposes the network's whole latency, the
// tree's figure. LL on two nodes: base 6.6 + two hops of 5.0 us, then 4 KiB at half the ring's
// rate.
TEST(NcclTuner, OneRankOnANodeWaitsTheTreesLatency) {
  const NcclLinks links{.channels = 24, .inter_gbps = 25};
  const NcclEstimate e = nccl_estimate(links, {CommKind::all_gather, 4096, 2, 2, 1});
  EXPECT_EQ(e.protocol, NcclProtocol::ll);
  EXPECT_NEAR(e.time.value * 1e6, 6.6 + 5.0 + 4096 * 0.5 / 12.5e3, 1e-9);
}

// The protocol's share is of what the tree reaches: 0.92 of the bus, 120/128 of that for LL128,
// then the size factor and half for the two directions.
TEST(NcclTuner, ATreesProtocolsShareWhatTheTreeReaches) {
  const NcclLinks links{.channels = 24, .intra_gbps = 240, .inter_gbps = 25};
  const NcclEstimate e = nccl_estimate(links, {CommKind::all_reduce, 1 << 18, 512, 64, 8});
  EXPECT_EQ(e.algorithm, NcclAlgorithm::tree);
  EXPECT_EQ(e.protocol, NcclProtocol::ll128);
  constexpr double kFactor = 0.6;  // 256 KiB
  const double latency = 14.0 + 2.0 * (7 * 1.25 + 6 * 8.5);
  const double bandwidth = 0.5 * 25e3 * 0.92 * 120 / 128 * kFactor;
  EXPECT_NEAR(e.time.value * 1e6, latency + (1 << 18) / bandwidth, 1e-9);
}

// Volta's caps: LL of one node 39 GB/s (NCCL 2.30.7 src/graph/tuning.cc, llMaxBws).
TEST(NcclTuner, LowLatencyHasTheCapOfItsGeneration) {
  NcclLinks links{.generation = GpuGeneration::volta, .channels = 12, .intra_gbps = 120};
  const NcclGroup group{CommKind::all_gather, 1 << 18, 8, 1, 8};
  const double volta = nccl_estimate(links, group).time.value * 1e6;
  EXPECT_NEAR(volta, 6.6 + 7 * 0.6 + (1 << 18) * 7.0 / 8 / 39e3, 1e-9);
  links.generation = GpuGeneration::ampere;  // 87.7 GB/s: half the ring's 120 is less
  EXPECT_NEAR(nccl_estimate(links, group).time.value * 1e6,
              6.6 + 7 * 0.6 + (1 << 18) * 7.0 / 8 / 60e3, 1e-9);
}

TEST(NcclTuner, SmallMessagesTakeLowLatencyProtocolsAndManyNodesATree) {
  NcclLinks links{.channels = 24, .intra_gbps = 240, .inter_gbps = 200};
  EXPECT_EQ(nccl_estimate(links, {CommKind::all_reduce, 4096, 8, 1, 8}).protocol, NcclProtocol::ll);
  EXPECT_EQ(nccl_estimate(links, {CommKind::all_reduce, 1 << 20, 512, 64, 8}).algorithm,
            NcclAlgorithm::tree);
}

}  // namespace
}  // namespace windtunnel
