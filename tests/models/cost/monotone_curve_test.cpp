// The nearest curve that never falls, against brute force.

#include "models/cost/monotone_curve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/counter_random.h"

namespace windtunnel {
namespace {

using Points = std::vector<std::pair<double, double>>;

double distance(const Points& a, const Points& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::log(a[i].second) - std::log(b[i].second);
    sum += d * d;
  }
  return sum;
}

/// All ways to cut the points into blocks of equal value; the best that never falls.
Points brute_force(const Points& points) {
  Points best;
  const std::size_t n = points.size();
  for (std::size_t cuts = 0; cuts < (std::size_t{1} << (n - 1)); ++cuts) {
    Points tried = points;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (i + 1 < n && (cuts >> i & 1) == 0) continue;
      double sum = 0.0;
      for (std::size_t j = begin; j <= i; ++j) sum += std::log(points[j].second);
      for (std::size_t j = begin; j <= i; ++j) {
        tried[j].second = std::exp(sum / static_cast<double>(i + 1 - begin));
      }
      begin = i + 1;
    }
    bool rises = true;
    for (std::size_t i = 1; i < n; ++i) rises &= tried[i].second >= tried[i - 1].second * 0.999999;
    if (rises && (best.empty() || distance(points, tried) < distance(points, best))) best = tried;
  }
  return best;
}

TEST(MonotoneCurve, IsTheNearestThatNeverFalls) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Points points;
    for (std::uint64_t i = 0; i < 8; ++i) {
      points.emplace_back(std::exp2(i), std::exp(to_normal(counter_hash(seed, i))));
    }
    const Points got = monotone(points);
    for (std::size_t i = 1; i < got.size(); ++i)
      EXPECT_GE(got[i].second, got[i - 1].second * 0.999999);
    EXPECT_NEAR(distance(points, got), distance(points, brute_force(points)), 1e-9) << seed;
  }
}

TEST(MonotoneCurve, LeavesARisingOneAlone) {
  const Points rising = {{1, 1.0}, {2, 1.0}, {4, 3.0}};
  const Points got = monotone(rising);
  for (std::size_t i = 0; i < rising.size(); ++i)
    EXPECT_NEAR(got[i].second, rising[i].second, 1e-15);
  EXPECT_TRUE(monotone({}).empty());
}

}  // namespace
}  // namespace windtunnel
