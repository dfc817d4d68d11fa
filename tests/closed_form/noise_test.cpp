// The spread of step times when kernels vary from call to call (docs/host_effects.md).
//
// n replicas of N kernels each of duration x meet once a step. Kernels vary independently with
// relative deviation s, so a replica takes N x (1 + s / sqrt(N) z) with z near normal, and the step
// is the largest of n: P(step <= t) = Phi((t / (N x) - 1) sqrt(N) / s)^n. Its share q is
//   N x (1 + s / sqrt(N) Phi^-1(q^(1/n)))
// and its mean N x (1 + s / sqrt(N) e_n), e_n the expected largest of n normals.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "planning/pricing.h"
#include "planning/step_noise.h"
#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

constexpr double kSigma = 0.1;
constexpr int kKernels = 64;  // that take time: a forward and a backward of 32 micro-batches

Scenario replicas(int n) {
  return scenario_of(fmt::format(
      R"(id: noise
model: {}
cluster: {{device: unit, devices_per_node: {}, nodes: 1, unit: {{layer: {{F: "1 s", B: "1 s"}}}}}}
batch: {{global: {}, micro: 1, sequence: 32}}
plan: {{}}
)",
      small_model(1), n, 32 * n));
}

/// x with Phi(x) = p, by halving.
double normal_quantile(double p) {
  double low = -8, high = 8;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return low;
}

// Expected largest of n standard normals: 1/sqrt(pi), 1.02938 and 1.42360 (tables of normal order
// statistics: Teichroew 1956).
TEST(Noise, AStepIsTheSlowestReplica) {
  constexpr int kSteps = 800;
  const double spread = kSigma / std::sqrt(double{kKernels});
  for (const auto& [n, largest] :
       {std::pair{1, 0.0}, {2, 0.5641896}, {4, 1.0293754}, {8, 1.4236003}}) {
    const Scenario s = replicas(n);
    const Lowered lowered = lower_scenario(s);
    PricedProgram priced = price_unit(lowered.program, s.cluster);
    priced.costs.jitter = uniform_noise(lowered.program, kSigma);
    const std::vector<Seconds> times = noisy_step_times(lowered.program, priced.costs, kSteps);
    const double mean = std::accumulate(times.begin(), times.end(), 0.0,
                                        [](double sum, Seconds t) { return sum + t.value; }) /
                        kSteps;
    const double four_errors = 4 * spread / std::sqrt(double{kSteps});
    expect_relative("mean of the slowest", kKernels * (1 + spread * largest), mean, four_errors);
    // A share's standard error: sqrt(q (1 - q) / steps) / density, in spreads of one step.
    const StepPercentiles p = percentiles_of(times);
    for (const auto& [q, got] : {std::pair{0.5, p.p50}, {0.9, p.p90}, {0.99, p.p99}}) {
      const double x = normal_quantile(std::pow(q, 1.0 / n));
      const double phi = std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
      const double density = n * std::pow(std::pow(q, 1.0 / n), n - 1) * phi;
      const double error = std::sqrt(q * (1 - q) / kSteps) / density;
      expect_relative(fmt::format("p{:.0f} of {} replicas", q * 100, n).c_str(),
                      kKernels * (1 + spread * x), got, 4 * spread * error);
    }
  }
}

TEST(Noise, ReportsHavePercentilesWhereThereIsNoise) {
  const StepReport quiet = simulate(replicas(4), {.draws = 0}).report;
  EXPECT_FALSE(quiet.step_time_percentiles_s.has_value());
  const StepReport noisy = simulate(replicas(4), {.draws = 0, .jitter = kSigma}).report;
  ASSERT_TRUE(noisy.step_time_percentiles_s.has_value());
  const StepPercentiles p = *noisy.step_time_percentiles_s;
  EXPECT_EQ(noisy.step_time_s, quiet.step_time_s);  // the nominal step and its interval stay
  EXPECT_EQ(noisy.step_time_interval_s, quiet.step_time_interval_s);
  EXPECT_LT(quiet.step_time_s, p.p50);
  EXPECT_LT(p.p50, p.p90);
  EXPECT_LT(p.p90, p.p99);
  const StepReport again = simulate(replicas(4), {.draws = 0, .jitter = kSigma}).report;
  EXPECT_EQ(again.step_time_percentiles_s->p99, p.p99);
}

TEST(Percentiles, AreTimesOfSteps) {
  std::vector<Seconds> times;
  for (int i = 1; i <= 200; ++i) times.push_back({static_cast<double>(i)});
  const StepPercentiles p = percentiles_of(times);
  EXPECT_EQ(p.p50, 100);
  EXPECT_EQ(p.p90, 180);
  EXPECT_EQ(p.p99, 198);
  const StepPercentiles one = percentiles_of({{3.0}});
  EXPECT_EQ(one.p50, 3.0);
  EXPECT_EQ(one.p99, 3.0);
}

}  // namespace
}  // namespace windtunnel::closed_form
