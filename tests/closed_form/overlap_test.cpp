// Do gradient reductions hide beside backward as the formula says? L buckets of equal cost c become
// ready b apart and run one after another: T = L b + c when c <= b, b + L c when c > b; in general
//   T = max over k of (ready_k + sum over i >= k of c_i)
// (the buckets of DistributedDataParallel: Li et al. 2020, 2006.15704, section 3.2).
//
// One replica of 10 layers on device `unit`: forward is free, a layer's backward takes 2 s.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

constexpr double kPicosecond = 1e-12;  // whole picoseconds, printed as seconds
constexpr int kLayers = 10;
constexpr double kBackward = 2.0;  // s

struct OverlapCase {
  std::int64_t bucket = 0;  // elements; 0: left out
  double collective = 0;    // s per reduction
  bool overlap = true;
  std::string sharding = "none";
};

/// LayerNorm and biases give a layer twelve parameters, so that buckets can close at many places.
constexpr std::int64_t kHidden = 64, kFfn = 512, kVocab = 512;
constexpr std::int64_t kLayerParameters =
    2 * kFfn * kHidden + kFfn + 4 * kHidden * kHidden + 9 * kHidden;
/// One element more than a layer has: each bucket then ends one parameter later in its layer than
/// the one before did. With the head in the first and the embedding in the last, the ten buckets
/// become ready with the ten layers.
constexpr std::int64_t kOneBucketPerLayer = kLayerParameters + 1;

Simulation step_of(const OverlapCase& c) {
  const std::string bucket = c.bucket > 0 ? fmt::format(", bucket: {}", c.bucket) : "";
  const Scenario scenario = scenario_of(fmt::format(
      R"(id: overlap
model: {{name: ten, layers: {layers}, hidden: {h}, ffn: {f}, heads: 4, vocab: {v}, norm: layernorm,
        activation: gelu, position: rope}}
cluster:
  device: unit
  devices_per_node: 4
  nodes: 1
  unit: {{layer: {{F: "0 s", B: "{b} s"}}, collective: {{all_reduce: "{c} s", reduce_scatter: "{c} s"}}}}
batch: {{global: 4, micro: 1, sequence: 32}}
plan:
  preset: ddp
  sharding: {{kind: {sharding}, overlap_grad_reduce: {overlap}, overlap_param_gather: false{bucket}}}
)",
      fmt::arg("layers", kLayers), fmt::arg("h", kHidden), fmt::arg("f", kFfn),
      fmt::arg("v", kVocab), fmt::arg("b", kBackward), fmt::arg("c", c.collective),
      fmt::arg("sharding", c.sharding), fmt::arg("overlap", c.overlap),
      fmt::arg("bucket", bucket)));
  return simulate(scenario, {.draws = 0, .trace = true});
}

bool reduces_gradients(const Op& op) {
  return op.kind == OpKind::collective && op.phase == Phase::grad_sync;
}

/// The formula from the program alone: a reduction is ready when the backwards issued before it are
/// done.
double general_form(const Program& program, const OverlapCase& c) {
  std::vector<double> ready;
  double backward = 0;
  for (const Call& call : program.roles[0].calls) {
    int layer = -1;  // the last one whose backward was issued in this call
    for (const Op& op : program.ops_of(call)) {
      if (op.kind == OpKind::compute && op.phase == Phase::backward && op.layer >= 0 &&
          op.layer != layer) {
        layer = op.layer;
        backward += kBackward;
      }
      if (reduces_gradients(op) && runs(op, call, 1)) ready.push_back(backward);
    }
  }
  double end = backward;
  for (std::size_t k = 0; k < ready.size(); ++k)
    end = std::max(end, ready[k] + static_cast<double>(ready.size() - k) * c.collective);
  return end;
}

std::size_t reductions(const Program& program) {
  std::size_t n = 0;
  for (const Call& call : program.roles[0].calls) {
    for (const Op& op : program.ops_of(call)) n += reduces_gradients(op) && runs(op, call, 1);
  }
  return n;
}

void expect_step(const char* name, const OverlapCase& c, std::size_t buckets, double expected) {
  const Simulation s = step_of(c);
  const double got = s.report.step_time_s;
  std::printf("%s (%s, %zu reductions): expected %g s, got %.12g s, deviation %.3g s\n", name,
              c.sharding.c_str(), buckets, expected, got, got - expected);
  EXPECT_EQ(reductions(s.lowered.program), buckets);
  EXPECT_NEAR(got, expected, kPicosecond);
  EXPECT_NEAR(s.report.breakdown.compute, kLayers * kBackward, kPicosecond);
  EXPECT_NEAR(s.report.breakdown.exposed_comm.dp, expected - kLayers * kBackward, kPicosecond);
}

class Overlap : public testing::TestWithParam<const char*> {};  // the sharding

TEST_P(Overlap, Oracle_O_051_cheap_reductions_hide) {  // L b + c
  expect_step("O-051 c 1", {kOneBucketPerLayer, 1.0, true, GetParam()}, 10, 21.0);
}

TEST_P(Overlap, Oracle_O_051_dear_reductions_bound) {  // b + L c
  expect_step("O-051 c 3", {kOneBucketPerLayer, 3.0, true, GetParam()}, 10, 32.0);
}

TEST_P(Overlap, Oracle_O_052_one_bucket_after_backward) {  // L b + L c
  expect_step("O-052", {0, kLayers * 1.0, false, GetParam()}, 1, 30.0);
  expect_step("O-052 in the largest bucket", {100'000'000, kLayers * 1.0, true, GetParam()}, 1,
              30.0);
}

INSTANTIATE_TEST_SUITE_P(Reductions, Overlap, testing::Values("none", "zero1"),
                         [](const testing::TestParamInfo<const char*>& instance) {
                           return std::string(instance.param);
                         });

TEST(OverlapGeneral, AnyBucketsFollowTheGeneralForm) {
  std::size_t before = 1000;
  for (const std::int64_t bucket : {1'000LL, 30'000LL, 60'000LL, 120'000LL, 300'000LL}) {
    for (const double c : {0.25, 1.0, 2.5}) {
      const OverlapCase overlap{bucket, c};
      const Simulation s = step_of(overlap);
      const double expected = general_form(s.lowered.program, overlap);
      std::printf("bucket %lld, c %g: expected %g s, got %.12g s\n", static_cast<long long>(bucket),
                  c, expected, s.report.step_time_s);
      EXPECT_NEAR(s.report.step_time_s, expected, kPicosecond);
    }
    const std::size_t n = reductions(step_of({bucket, 1.0}).lowered.program);
    EXPECT_LT(n, before) << "a larger bucket, fewer reductions";
    before = n;
  }
}

}  // namespace
}  // namespace windtunnel::closed_form
