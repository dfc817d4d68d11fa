// Are the rates max-min fair? Closed forms, the bottleneck property, and a solver that knows only
// which rates are feasible.

#include "sim/network/fair_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/counter_random.h"

namespace windtunnel {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
/// Rates are sums and quotients of a few numbers of like size.
constexpr double kRounding = 1e-9;
/// The bisecting solver's: 60 halvings of a range of 1e3, and a step of 1e-7 to tell a stuck flow.
constexpr double kBisection = 1e-5;

struct Case {
  std::vector<double> capacity;
  std::vector<std::vector<LinkLoad>> loads;
  std::vector<double> own_rate;

  std::vector<FlowDemand> flows() const {
    std::vector<FlowDemand> result;
    for (std::size_t f = 0; f < loads.size(); ++f) {
      result.push_back({.loads = loads[f], .own_rate = own_rate[f]});
    }
    return result;
  }
  std::vector<double> rates() const { return fair_rates(capacity, flows()); }
};

Case unlimited(std::vector<double> capacity, std::vector<std::vector<LinkLoad>> loads) {
  const std::size_t flows = loads.size();
  return {std::move(capacity), std::move(loads), std::vector<double>(flows, kNoLimit)};
}

TEST(FairShare, EqualFlowsSplitALink) {
  for (int n = 1; n <= 20; ++n) {
    const Case c = unlimited({10.0}, std::vector<std::vector<LinkLoad>>(n, {{0, 1.0}}));
    for (const double rate : c.rates()) EXPECT_NEAR(rate, 10.0 / n, kRounding);
  }
}

TEST(FairShare, NoFlowsNoRates) {
  EXPECT_TRUE(fair_rates(std::vector<double>{1.0}, {}).empty());
}

TEST(FairShare, CrossingFlowGetsAThirdAndLeavesTwoThirds) {
  // Two flows and the crossing one on link 0 (capacity 1), one and the crossing one on link 1.
  const Case c = unlimited({1.0, 1.0}, {{{0, 1.0}, {1, 1.0}}, {{0, 1.0}}, {{0, 1.0}}, {{1, 1.0}}});
  const std::vector<double> rates = c.rates();
  EXPECT_NEAR(rates[0], 1.0 / 3, kRounding);
  EXPECT_NEAR(rates[1], 1.0 / 3, kRounding);
  EXPECT_NEAR(rates[2], 1.0 / 3, kRounding);
  EXPECT_NEAR(rates[3], 2.0 / 3, kRounding);
}

TEST(FairShare, OversubscribedUplink) {
  // Four NICs of 1 below an uplink of 1: four flows through it get 1/4; one that stays below the
  // leaf shares NIC 0 with the first and takes the 3/4 that it leaves.
  Case c = unlimited({1, 1, 1, 1, 1}, {});
  for (std::uint32_t nic = 0; nic < 4; ++nic) c.loads.push_back({{nic, 1.0}, {4, 1.0}});
  c.loads.push_back({{0, 1.0}});
  c.own_rate.assign(5, kNoLimit);
  const std::vector<double> rates = c.rates();
  for (int f = 0; f < 4; ++f) EXPECT_NEAR(rates[f], 0.25, kRounding);
  EXPECT_NEAR(rates[4], 0.75, kRounding);
}

TEST(FairShare, WhatACappedFlowLeavesGoesToTheOthers) {
  Case c = unlimited({9.0}, std::vector<std::vector<LinkLoad>>(3, {{0, 1.0}}));
  c.own_rate[1] = 1.0;
  const std::vector<double> rates = c.rates();
  EXPECT_NEAR(rates[0], 4.0, kRounding);
  EXPECT_EQ(rates[1], 1.0);
  EXPECT_NEAR(rates[2], 4.0, kRounding);
}

TEST(FairShare, AFlowOfWeightMStandsForMFlows) {
  // Seven equal flows, as seven and as one of weight 7, beside two others.
  const Case apart = unlimited({3.0}, std::vector<std::vector<LinkLoad>>(9, {{0, 1.0}}));
  const Case together = unlimited({3.0}, {{{0, 7.0}}, {{0, 1.0}}, {{0, 1.0}}});
  EXPECT_NEAR(apart.rates()[0], together.rates()[0], kRounding);
  EXPECT_NEAR(apart.rates()[8], together.rates()[2], kRounding);
}

TEST(FairShare, OwnRatesThatFillALinkAreKeptExactly) {
  for (int n = 2; n <= 64; ++n) {
    Case c = unlimited({50e9}, std::vector<std::vector<LinkLoad>>(n, {{0, 1.0}}));
    c.own_rate.assign(n, 50e9 / n);
    for (const double rate : c.rates()) EXPECT_EQ(rate, 50e9 / n);
  }
}

TEST(FairShare, RefusesWhatHasNoAnswer) {
  EXPECT_THROW(unlimited({0.0}, {{{0, 1.0}}}).rates(), InternalError);
  EXPECT_THROW(unlimited({1.0}, {{{1, 1.0}}}).rates(), InternalError);
  EXPECT_THROW(unlimited({1.0}, {{{0, 0.0}}}).rates(), InternalError);
  EXPECT_THROW(unlimited({1.0}, {{}}).rates(), InternalError);
}

Case random_case(std::uint64_t seed) {
  auto next = [seed, n = std::uint64_t{0}](std::uint64_t below) mutable {
    return counter_hash(seed, n++) % below;
  };
  Case c;
  const auto links = 1 + next(5);
  const auto flows = 1 + next(7);
  for (std::uint64_t l = 0; l < links; ++l) c.capacity.push_back(1.0 + double(next(40)) / 4);
  for (std::uint64_t f = 0; f < flows; ++f) {
    std::vector<LinkLoad> loads;
    for (std::uint32_t l = 0; l < links; ++l) {
      if (next(2) == 0) loads.push_back({l, 0.5 * double(1 + next(6))});
    }
    const bool capped = loads.empty() || next(3) == 0;
    c.loads.push_back(std::move(loads));
    c.own_rate.push_back(capped ? 0.25 * double(1 + next(20)) : kNoLimit);
  }
  return c;
}

double load_of(const Case& c, const std::vector<double>& rates, std::uint32_t link) {
  double sum = 0;
  for (std::size_t f = 0; f < rates.size(); ++f) {
    for (const LinkLoad& load : c.loads[f]) {
      if (load.link == link) sum += rates[f] * load.weight;
    }
  }
  return sum;
}

bool feasible(const Case& c, const std::vector<double>& rates) {
  for (std::uint32_t l = 0; l < c.capacity.size(); ++l) {
    if (load_of(c, rates, l) > c.capacity[l] * (1 + 1e-12)) return false;
  }
  for (std::size_t f = 0; f < rates.size(); ++f) {
    if (rates[f] > c.own_rate[f]) return false;
  }
  return true;
}

/// By feasibility alone: the highest common rate of the flows not stuck, by bisection; then each of
/// them that cannot be raised by itself is stuck.
std::vector<double> bisected(const Case& c) {
  std::vector<double> rates(c.loads.size(), 0.0);
  std::vector<bool> stuck(rates.size(), false);
  const auto raised = [&](double rate) {
    std::vector<double> tried = rates;
    for (std::size_t f = 0; f < tried.size(); ++f) {
      if (!stuck[f]) tried[f] = rate;
    }
    return tried;
  };
  while (!std::all_of(stuck.begin(), stuck.end(), [](bool s) { return s; })) {
    double low = 0, high = 1000;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (feasible(c, raised(middle)) ? low : high) = middle;
    }
    rates = raised(low);
    for (std::size_t f = 0; f < rates.size(); ++f) {
      std::vector<double> more = rates;
      more[f] += 1e-7;
      if (!stuck[f] && !feasible(c, more)) stuck[f] = true;
    }
  }
  return rates;
}

TEST(FairShare, EqualsASolverThatKnowsOnlyFeasibility) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Case c = random_case(seed);
    const std::vector<double> got = c.rates();
    const std::vector<double> expected = bisected(c);
    for (std::size_t f = 0; f < got.size(); ++f) {
      ASSERT_NEAR(got[f], expected[f], kBisection) << "seed " << seed << " flow " << f;
    }
  }
}

TEST(FairShare, EveryFlowHasABottleneck) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Case c = random_case(seed);
    const std::vector<double> rates = c.rates();
    for (std::uint32_t l = 0; l < c.capacity.size(); ++l) {
      ASSERT_LE(load_of(c, rates, l), c.capacity[l] * (1 + kRounding)) << "seed " << seed;
    }
    for (std::size_t f = 0; f < rates.size(); ++f) {
      bool bound = rates[f] == c.own_rate[f];
      for (const LinkLoad& load : c.loads[f]) {
        const bool full = load_of(c, rates, load.link) > c.capacity[load.link] * (1 - kRounding);
        bool fastest = true;
        for (std::size_t g = 0; g < rates.size(); ++g) {
          for (const LinkLoad& other : c.loads[g]) {
            fastest = fastest && (other.link != load.link || rates[g] <= rates[f] + kRounding);
          }
        }
        bound = bound || (full && fastest);
      }
      ASSERT_TRUE(bound) << "seed " << seed << " flow " << f;
    }
  }
}

TEST(FairShare, TheOrderOfFlowsChangesNothingButRounding) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Case c = random_case(seed);
    const std::vector<double> forward = c.rates();
    std::reverse(c.loads.begin(), c.loads.end());
    std::reverse(c.own_rate.begin(), c.own_rate.end());
    const std::vector<double> backward = c.rates();
    for (std::size_t f = 0; f < forward.size(); ++f) {
      ASSERT_NEAR(forward[f], backward[forward.size() - 1 - f], kRounding) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace windtunnel
