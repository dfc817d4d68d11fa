// Samples with known costs, taken on a machine whose speed changes: does the profile hold the
// costs?

#include "calibrate/build_profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "calibrate/calibration_text.h"
#include "core/counter_random.h"
#include "models/cost/calibrated_json.h"
#include "models/cost/profile_cost.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

constexpr double kPerFlop = 2e-10, kFixed = 1e-6;
constexpr double kNoise = 0.02;
// 40 samples with 2 % noise: a mean is known to 0.3 %, of a fit's terms some times less well.
constexpr double kBound = 0.02;

Shape product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.kernel = Kernel::gemm_fwd,
          .in = Dtype::fp32,
          .out = Dtype::fp32,
          .dims = {m, n, k},
          .bytes_read = 4 * (m * k + n * k),
          .bytes_written = 4 * m * n};
}

double true_seconds(const Shape& s) {
  return kFixed + kPerFlop * 2.0 * static_cast<double>(s.dims[0] * s.dims[1] * s.dims[2]);
}

/// The machine is half as fast in half of the samples, and between in others.
std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const double slow = 1.0 + to_unit_interval(counter_hash(1, i));
    const auto size = [&](std::uint64_t d) {
      return static_cast<std::int64_t>(std::exp2(3 + 6 * to_unit_interval(counter_hash(2, i, d))));
    };
    const Shape shape = product(size(0), size(1), size(2));
    const AnchorRates rates{.flops_per_s = 15e9 / slow, .bytes_per_s = 1e10};
    const double noise = std::exp(kNoise * to_normal(counter_hash(3, i)));
    all.push_back({.kind = SampleKind::kernel,
                   .shape = shape,
                   .seconds = true_seconds(shape) * slow / 1.5 * noise,
                   .sigma = 0.01,
                   .runs = 10,
                   .before = rates,
                   .after = rates});
  }
  return all;
}

constexpr AnchorRates kReference{.flops_per_s = 1e10, .bytes_per_s = 1e10};

Sample other(SampleKind kind, double seconds) {
  return {.kind = kind, .seconds = seconds, .before = kReference, .after = kReference};
}

const ProfileFacts kFacts{.id = "test",
                          .date = "2026-01-01",
                          .fingerprint = {{"processor", "some"}},
                          .memory_bytes = 1e10,
                          .seed = 1};

TEST(BuildProfile, StatesTimesAtTheSpeedAskedFor) {
  const std::vector<Sample> all = samples();
  ProfileFacts facts = kFacts;
  facts.rates = AnchorRates{.flops_per_s = 15e9, .bytes_per_s = 1e10};  // slow: 1
  const Profile p = build_profile(all, {}, facts);
  EXPECT_EQ(p.calibration->anchors.flops_per_s, 15e9);
  const Shape shape = product(256, 256, 256);
  EXPECT_NEAR(ProfileCostModel(p).cost(shape).time.value, true_seconds(shape) / 1.5,
              kBound * true_seconds(shape));
}

TEST(BuildProfile, NoiseIsThatOfHalfAStepsTime) {
  Sample brief = other(SampleKind::kernel, 1.0), lasting = other(SampleKind::kernel, 2.0);
  brief.shape = product(8, 8, 8);
  lasting.shape = product(16, 8, 8);
  brief.noise = 0.1;
  lasting.noise = 0.2;
  Sample unused = lasting;
  unused.shape = product(8, 8, 16);
  unused.noise = 5.0;
  const std::vector<Sample> all{brief, lasting, unused};
  const std::vector<ShapeUse> uses{{.shape = brief.shape, .runs = 3},
                                   {.shape = lasting.shape, .runs = 1},
                                   {.shape = unused.shape, .runs = 0}};
  EXPECT_EQ(build_profile(all, uses, kFacts).calibration->noise, 0.1);  // 3 s of it, 2 s of 0.2
  EXPECT_EQ(build_profile(all, {}, kFacts).calibration->noise, 0.0);
}

TEST(BuildProfile, DividesTheMachinesSpeedOut) {
  const std::vector<Sample> all = samples();
  const Profile p = build_profile(all, {}, kFacts);
  ASSERT_TRUE(p.calibration.has_value());
  // The reference is the median anchor, where `slow` is near 1.5.
  const double slow = 15e9 / p.calibration->anchors.flops_per_s;
  EXPECT_NEAR(slow, 1.5, 0.2);
  const KernelCost& fit = p.calibration->kernels.at({Kernel::gemm_fwd, Dtype::fp32});
  EXPECT_NEAR(fit.seconds_per_flop / (kPerFlop * slow / 1.5), 1.0, kBound);
  EXPECT_NEAR(fit.fixed_s / (kFixed * slow / 1.5), 1.0, 3 * kBound);
  EXPECT_LT(fit.error, 3 * kNoise);
  EXPECT_EQ(p.calibration->quality.front().held_out, 6);
  for (const Sample& s : all) {
    const MeasuredCost& cost = p.calibration->measured.at(measured_shape(s.shape));
    EXPECT_NEAR(cost.seconds / (true_seconds(s.shape) * slow / 1.5), 1.0, 4 * kNoise);
    EXPECT_GE(cost.sigma, 0.01);
  }
}

TEST(BuildProfile, WhatMovedWhileItWasMeasuredIsLessSure) {
  Sample moved = samples().front();
  moved.after.flops_per_s *= 0.8;
  const Profile p = build_profile(std::vector<Sample>{moved}, {}, kFacts);
  EXPECT_NEAR(p.calibration->measured.begin()->second.sigma,
              std::hypot(0.01, std::log(1 / 0.8) / 2), 1e-9);
}

TEST(BuildProfile, AFitOfTwoShapesIsNotSure) {
  const std::vector<Sample> all = samples();
  const Profile p = build_profile(std::span(all).first(2), {}, kFacts);
  EXPECT_EQ((p.calibration->kernels.at({Kernel::gemm_fwd, Dtype::fp32}).error), 0.25);
  EXPECT_EQ(p.calibration->quality.front().held_out, 0);
}

TEST(BuildProfile, HostStorageTransfersAndOverlap) {
  std::vector<Sample> all = samples();
  for (Sample& s : all) s.before = s.after = kReference;
  all.push_back(other(SampleKind::launch, 1e-7));
  all.push_back(other(SampleKind::synchronize, 5e-6));
  all.push_back(other(SampleKind::storage_write, 0.5));
  all.back().bytes = 1 << 20;
  all.push_back(other(SampleKind::storage_read, 0.25));
  all.back().bytes = 1 << 20;
  for (const std::int64_t bytes : {4, 64, 1024}) {
    all.push_back(other(SampleKind::transfer, 1e-6 * static_cast<double>(bytes)));
    all.back().transfer = CommKind::all_gather;
    all.back().ranks = 4;
    all.back().bytes = bytes;
    all.back().noise = 1.0 / static_cast<double>(bytes);
    all.back().early = 0.5 / static_cast<double>(bytes);
  }
  for (const double theft : {0.2, 0.4, 0.3}) {
    all.push_back(other(SampleKind::overlap, 1e-3));
    all.back().shape = product(8, 8, 8);
    all.back().kernel_theft = theft;
    all.back().transfer_theft = 2 * theft;
  }
  const Profile p = build_profile(all, {}, kFacts);
  EXPECT_EQ(p.host.at(HostItem::kernel_launch).value, 1e-7);
  EXPECT_EQ(p.host.at(HostItem::synchronize).value, 5e-6);
  EXPECT_EQ(p.calibration->storage->write.value, (1 << 20) / 0.5);
  EXPECT_EQ(p.calibration->drift, 0.0) << "all anchors alike";
  ASSERT_EQ(p.curves.size(), 1U);
  EXPECT_EQ(p.curves[0].points.size(), 3U);
  EXPECT_NEAR(p.curves[0].points[1].second, 64e-6, 1e-12);
  ASSERT_EQ(p.curves[0].noise.size(), 3U);
  EXPECT_EQ(p.curves[0].noise[1].sigma, 1.0 / 64);
  EXPECT_EQ(p.curves[0].noise[1].early, 0.5 / 64);
  EXPECT_EQ(p.calibration->overlap->compute_beside_collective.at(KernelClass::gemm), 0.3);
  EXPECT_EQ(p.calibration->overlap->collective_beside_compute, 0.6);
}

TEST(BuildProfile, CurvesOverNodesAreTheNetworks) {
  std::vector<Sample> all{samples().front()};
  all.front().before = all.front().after = {.flops_per_s = 2 * kReference.flops_per_s,
                                            .bytes_per_s = 2 * kReference.bytes_per_s};
  for (const int nodes : {1, 2}) {
    all.push_back(other(SampleKind::transfer, 1e-3));
    all.back().transfer = CommKind::all_reduce;
    all.back().ranks = 2;
    all.back().nodes = nodes;
    all.back().bytes = 1 << 20;
  }
  ProfileFacts facts = kFacts;
  facts.rates = AnchorRates{.flops_per_s = 2 * kReference.flops_per_s,
                            .bytes_per_s = 2 * kReference.bytes_per_s};
  facts.network = {.type = NetworkType::tcp, .nic_bandwidth = 5e7};
  const Profile p = build_profile(all, {}, facts);
  ASSERT_EQ(p.curves.size(), 2U);
  EXPECT_EQ(p.curves[0].network, NetworkType::none);
  EXPECT_NEAR(p.curves[0].points[0].second, 5e-4, 1e-9) << "memory goes with the machine's speed";
  EXPECT_EQ(p.curves[1].nodes, 2);
  EXPECT_EQ(p.curves[1].network, NetworkType::tcp);
  EXPECT_EQ(p.curves[1].nic_bandwidth, 5e7);
  EXPECT_NEAR(p.curves[1].points[0].second, 1e-3, 1e-9) << "a network does not";
  const Profile links = with_transfers(p, std::vector<Sample>{all.back()}, "links", facts.network);
  EXPECT_EQ(links.id, "links");
  ASSERT_EQ(links.curves.size(), 1U);
  EXPECT_EQ(links.curves[0].nodes, 2);
  EXPECT_EQ(links.calibration->measured.size(), p.calibration->measured.size());
}

TEST(BuildProfile, SaysWhatWasNotMeasured) {
  const std::vector<Sample> all = samples();
  const std::vector<ShapeUse> wanted = {
      {.shape = all.front().shape},
      {.shape = product(100, 100, 100)},
      {.shape = product(4096, 4096, 4096)},
      {.shape = {.kernel = Kernel::adamw, .in = Dtype::fp32, .dims = {7}}}};
  const std::vector<std::string> said =
      build_profile(all, wanted, kFacts).calibration->extrapolated;
  EXPECT_EQ(said, (std::vector<std::string>{
                      "gemm_fwd 100 x 100 x 100: from the fit",
                      "gemm_fwd 4096 x 4096 x 4096: from the fit, beyond what was measured",
                      "adamw 7: no price"}));
}

TEST(BuildProfile, IsReadBackAndPrices) {
  const Profile built = build_profile(samples(), {}, kFacts);
  const std::filesystem::path folder = make_temp_folder();
  const std::string path = (folder / "p.json").string();
  std::ofstream(path) << calibrated_profile_text(built);
  const ProfileCostModel model(load_profile(path));
  std::filesystem::remove_all(folder);
  const Shape shape = samples().front().shape;
  const OpCost cost = model.cost(shape);
  EXPECT_EQ(cost.origin.basis, Basis::measured);
  EXPECT_EQ(cost.time.value, built.calibration->measured.at(measured_shape(shape)).seconds);
  EXPECT_EQ(model.source_text(cost.origin.source), "calibration test, 2026-01-01");
  const std::string text = calibration_text(model.profile());
  for (const char* part : {"test of cpu", "anchors", "gemm_fwd", "held out", "GFLOP/s",
                           "Transfers between ranks: not measured", "Every shape"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

}  // namespace
}  // namespace windtunnel
