// Do flows end when a fluid says? Closed forms, and a solver that walks in small steps of time.

#include "sim/network/fluid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "core/counter_random.h"

namespace windtunnel {
namespace {

constexpr Picoseconds kSecond = 1'000'000'000'000;
/// An end is rounded to a picosecond, and so is what the flow after it begins with.
constexpr Picoseconds kRounding = 2;

/// Loads of flows on one link, kept for all the tests.
const std::vector<LinkLoad> kFirst{{0, 1.0}};
const std::vector<LinkLoad> kSecondLink{{1, 1.0}};
const std::vector<LinkLoad> kBoth{{0, 1.0}, {1, 1.0}};

FluidFlow bytes(double work, const std::vector<LinkLoad>& loads, double start_s = 0) {
  return {.start = to_picoseconds({start_s}), .work = work, .loads = loads};
}

std::vector<Picoseconds> ends(const std::vector<double>& capacity,
                              const std::vector<FluidFlow>& flows) {
  return run_fluid(capacity, flows);
}

TEST(Fluid, EqualFlowsOnOneLinkTakeNTimesAsLong) {
  for (int n = 1; n <= 12; ++n) {
    const std::vector<FluidFlow> flows(n, bytes(100.0, kFirst));
    for (const Picoseconds end : ends({100.0}, flows)) EXPECT_EQ(end, n * kSecond);
  }
}

TEST(Fluid, SecondStartsMidway) {
  // The first has half left at 0.5 s and half the rate: 1.5 s. The second then has half left: 2 s.
  const auto end = ends({100.0}, {bytes(100.0, kFirst), bytes(100.0, kFirst, 0.5)});
  EXPECT_EQ(end[0], kSecond * 3 / 2);
  EXPECT_EQ(end[1], kSecond * 2);
}

TEST(Fluid, StaggeredStartsOfN) {
  // A link of rate 1; flow k of work n starts at k, for k < n: all are there at n - 1. Flow k has
  // then received sum_{j=k+1}^{n-1} 1/j, so flow 0 ends first, and the last at n * n, when all the
  // work is done without a pause.
  constexpr int kFlows = 5;
  std::vector<FluidFlow> flows;
  for (int k = 0; k < kFlows; ++k) flows.push_back(bytes(kFlows, kFirst, k));
  const auto end = ends({1.0}, flows);
  double received = 0;
  for (int j = 1; j < kFlows; ++j) received += 1.0 / j;
  const double first = kFlows - 1 + (kFlows - received) * kFlows;
  EXPECT_NEAR(end[0], first * kSecond, kRounding);
  EXPECT_NEAR(end[kFlows - 1], kFlows * kFlows * kSecond, kRounding * kFlows);
  EXPECT_TRUE(std::is_sorted(end.begin(), end.end()));
}

TEST(Fluid, TwoLinksAndACrossingFlow) {
  // All at 1/2 until the short flow on link 0 ends at 1 s; then the crossing flow still meets the
  // one on link 1.
  const auto end =
      ends({1.0, 1.0}, {bytes(1.0, kBoth), bytes(0.5, kFirst), bytes(1.0, kSecondLink)});
  EXPECT_EQ(end[0], 2 * kSecond);
  EXPECT_EQ(end[1], kSecond);
  EXPECT_EQ(end[2], 2 * kSecond);
}

TEST(Fluid, OversubscribedUplink) {
  // Four NICs of 1 below an uplink of 2: 2 s instead of 1.
  std::vector<std::vector<LinkLoad>> loads;
  for (std::uint32_t nic = 0; nic < 4; ++nic) loads.push_back({{nic, 1.0}, {4, 1.0}});
  std::vector<FluidFlow> flows;
  for (const auto& l : loads) flows.push_back(bytes(1.0, l));
  for (const Picoseconds end : ends({1, 1, 1, 1, 2}, flows)) EXPECT_EQ(end, 2 * kSecond);
}

TEST(Fluid, LatencyIsNotShared) {
  FluidFlow late = bytes(1.0, kFirst);
  late.latency = kSecond;
  const auto end = ends({1.0}, {bytes(1.0, kFirst), late});
  EXPECT_EQ(end[0], kSecond);
  EXPECT_EQ(end[1], 2 * kSecond);
}

TEST(Fluid, OwnTimeIsExactWithoutSharing) {
  // Up to a day: more picoseconds than a double holds, so no quotient of doubles gives them back.
  const std::vector<LinkLoad> quarter{{0, 0.25}};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::vector<FluidFlow> flows;
    for (std::uint64_t f = 0; f < 4; ++f) {
      const auto time = static_cast<Picoseconds>(counter_hash(seed, f) % (86'400 * kSecond)) + 1;
      FluidFlow flow{.start = time % 1001,
                     .latency = time % 77,
                     .work = 1e-12 * double(time),
                     .own_time = time,
                     .loads = quarter};
      flows.push_back(flow);
    }
    const auto end = ends({1.0}, flows);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      EXPECT_EQ(end[f], flows[f].start + flows[f].latency + flows[f].own_time);
    }
  }
}

TEST(Fluid, ASlowerFlowLeavesTheRest) {
  // Own rate 1/4 of the link: the other runs at 3/4.
  FluidFlow slow = bytes(1.0, kFirst);
  slow.own_time = 4 * kSecond;
  const auto end = ends({1.0}, {slow, bytes(1.5, kFirst)});
  EXPECT_EQ(end[0], 4 * kSecond);
  EXPECT_EQ(end[1], 2 * kSecond);
}

TEST(Fluid, FlowsStartWhileTimeGoesOn) {
  Fluid fluid({1.0});
  const Fluid::FlowId first = fluid.start(bytes(1.0, kFirst));
  EXPECT_EQ(fluid.next_event(), 0);
  fluid.advance_to(kSecond / 2);
  EXPECT_EQ(fluid.rate_of(first), 1.0);
  EXPECT_EQ(fluid.next_event(), kSecond);
  const Fluid::FlowId second = fluid.start(bytes(0.25, kFirst, 0.5));
  EXPECT_EQ(fluid.next_event(), kSecond / 2);
  fluid.advance_to(kSecond / 2);
  EXPECT_EQ(fluid.rate_of(first), 0.5);
  EXPECT_EQ(fluid.next_event(), kSecond);
  fluid.advance_to(kSecond);
  EXPECT_EQ(fluid.end_of(second), kSecond);
  EXPECT_EQ(fluid.end_of(first), std::nullopt);
  fluid.advance_to(9 * kSecond);
  EXPECT_EQ(fluid.end_of(first), kSecond * 5 / 4);
  EXPECT_EQ(fluid.next_event(), std::nullopt);
}

TEST(Fluid, RefusesTheImpossible) {
  Fluid fluid({1.0});
  fluid.advance_to(kSecond);
  EXPECT_THROW(fluid.start(bytes(1.0, kFirst)), InternalError);
  EXPECT_THROW(fluid.advance_to(0), InternalError);
  EXPECT_THROW(run_fluid(std::vector<double>{0.0}, std::vector{bytes(1.0, kFirst)}), InternalError);
}

struct Case {
  std::vector<double> capacity;
  std::vector<std::vector<LinkLoad>> loads;
  std::vector<FluidFlow> flows;  // in milliseconds of whole numbers
};

Case random_case(std::uint64_t seed) {
  auto next = [seed, n = std::uint64_t{0}](std::uint64_t below) mutable {
    return counter_hash(seed, n++) % below;
  };
  Case c;
  const auto links = 1 + next(4);
  const auto flows = 1 + next(8);
  for (std::uint64_t l = 0; l < links; ++l) c.capacity.push_back(1.0 + double(next(12)) / 4);
  c.loads.resize(flows);
  for (std::uint64_t f = 0; f < flows; ++f) {
    for (std::uint32_t l = 0; l < links; ++l) {
      if (next(2) == 0) c.loads[f].push_back({l, 0.5 * double(1 + next(4))});
    }
    const bool capped = c.loads[f].empty() || next(2) == 0;
    c.flows.push_back({.start = Picoseconds(next(2000)) * kSecond / 1000,
                       .latency = Picoseconds(next(500)) * kSecond / 1000,
                       .work = 0.25 * double(next(8)),
                       .own_time = capped ? Picoseconds(1 + next(3000)) * kSecond / 1000 : 0,
                       .loads = c.loads[f]});
  }
  return c;
}

constexpr double kStep = 2e-4;  // seconds
/// The step solver ends a flow up to a step late, and each end delays those that come after it.
constexpr double kStepTolerance = 30 * kStep;

std::vector<double> stepped(const Case& c) {
  std::vector<double> left, end(c.flows.size(), 0.0);
  for (const FluidFlow& flow : c.flows) left.push_back(flow.work);
  std::vector<double> begin;
  for (const FluidFlow& flow : c.flows) {
    begin.push_back(from_picoseconds(flow.start + flow.latency).value);
    if (flow.work == 0) end[begin.size() - 1] = begin.back();
  }
  std::vector<bool> was;
  std::vector<double> rates;
  for (int step = 0; *std::max_element(left.begin(), left.end()) > 0; ++step) {
    const double now = step * kStep;
    std::vector<std::size_t> active;
    std::vector<FlowDemand> demands;
    for (std::size_t f = 0; f < left.size(); ++f) {
      if (left[f] <= 0 || begin[f] > now + kStep / 2) continue;
      active.push_back(f);
      demands.push_back({.loads = c.loads[f]});
      if (c.flows[f].own_time > 0) {
        demands.back().own_rate = c.flows[f].work / from_picoseconds(c.flows[f].own_time).value;
      }
    }
    rates = fair_rates(c.capacity, demands);
    for (std::size_t i = 0; i < active.size(); ++i) {
      left[active[i]] -= rates[i] * kStep;
      if (left[active[i]] <= 0) end[active[i]] = now + kStep;
    }
  }
  return end;
}

TEST(Fluid, EqualsASolverThatWalksInSmallSteps) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Case c = random_case(seed);
    const std::vector<Picoseconds> got = run_fluid(c.capacity, c.flows);
    const std::vector<double> expected = stepped(c);
    for (std::size_t f = 0; f < got.size(); ++f) {
      ASSERT_NEAR(from_picoseconds(got[f]).value, expected[f], kStepTolerance)
          << "seed " << seed << " flow " << f;
    }
  }
}

TEST(Fluid, TheOrderOfFlowsChangesNothing) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Case c = random_case(seed);
    const std::vector<Picoseconds> expected = run_fluid(c.capacity, c.flows);
    std::vector<std::size_t> order(c.flows.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t k = order.size(); k > 1; --k) {
      std::swap(order[k - 1], order[counter_hash(seed, 99, k) % k]);
    }
    std::vector<FluidFlow> shuffled;
    for (const std::size_t f : order) shuffled.push_back(c.flows[f]);
    const std::vector<Picoseconds> got = run_fluid(c.capacity, shuffled);
    for (std::size_t k = 0; k < order.size(); ++k) ASSERT_EQ(got[k], expected[order[k]]);
  }
}

TEST(Fluid, OnlineEqualsAllAtOnce) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Case c = random_case(seed);
    const std::vector<Picoseconds> expected = run_fluid(c.capacity, c.flows);
    std::vector<std::size_t> order(c.flows.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return c.flows[a].start < c.flows[b].start; });
    Fluid fluid(c.capacity);
    for (const std::size_t f : order) {
      fluid.advance_to(c.flows[f].start);
      fluid.start(c.flows[f]);
    }
    while (const auto next = fluid.next_event()) fluid.advance_to(*next);
    for (std::size_t k = 0; k < order.size(); ++k) ASSERT_EQ(fluid.end_of(k), expected[order[k]]);
  }
}

}  // namespace
}  // namespace windtunnel
