// Routing and permutation: gradients, and where tokens go.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kernels/reference/permute.h"
#include "kernels/reference/routing.h"
#include "tests/kernels/gradient_check.h"

namespace windtunnel::reference {
namespace {

using Rows = std::vector<std::int64_t>;

struct Routed {
  Rows rows;
  std::vector<double> counts;
};

Routed routed(const RoutingDims& d, const RoutingSource& source) {
  Routed r{.rows = Rows(static_cast<std::size_t>(d.t * d.k)),
           .counts = std::vector<double>(static_cast<std::size_t>(d.parts * d.experts))};
  choose_experts(d, source, r.rows.data(), r.counts.data());
  return r;
}

TEST(Routing, EvenChoicesFillEveryRowOnce) {
  const RoutingDims d{.t = 16, .experts = 8, .k = 3, .capacity = 3, .parts = 2};
  const Routed r = routed(d, {.layer = 2});
  EXPECT_EQ(std::set<std::int64_t>(r.rows.begin(), r.rows.end()).size(), r.rows.size());
  for (const std::int64_t row : r.rows) EXPECT_LT(row, d.rows());
  for (const double count : r.counts) EXPECT_EQ(count, 3.0);
}

TEST(Routing, ATokensExpertsDiffer) {
  const RoutingDims d{.t = 64, .experts = 8, .k = 5, .capacity = 64};
  const Routed r = routed(d, {.layer = 1, .sequence = 64, .hashed = true});
  for (std::int64_t token = 0; token < d.t; ++token) {
    std::set<std::int64_t> experts;
    for (std::int64_t k = 0; k < d.k; ++k)
      experts.insert(d.expert_of(r.rows[static_cast<std::size_t>(token * d.k + k)]));
    EXPECT_EQ(experts.size(), 5U);
  }
}

TEST(Routing, ChoicesBeyondTheCapacityHaveNoRowAndNameTheirExpert) {
  const RoutingDims d{.t = 64, .experts = 8, .k = 2, .capacity = 4};
  const Routed r = routed(d, {.sequence = 64, .hashed = true});
  int dropped = 0;
  for (const std::int64_t row : r.rows) {
    dropped += row >= d.rows() ? 1 : 0;
    EXPECT_LT(d.expert_of(row), d.experts);
  }
  EXPECT_EQ(dropped, 128 - 8 * 4);  // every expert is asked for more than four
}

/// A rank that holds the second half of a micro-batch chooses as one that holds it all.
TEST(Routing, ShardsOfTheSequenceRouteAsTheWhole) {
  for (const bool hashed : {false, true}) {
    const RoutingDims all{.t = 16, .experts = 4, .k = 2, .capacity = 4, .parts = 2};
    const RoutingDims half{.t = 8, .experts = 4, .k = 2, .capacity = 4, .parts = 1};
    RoutingSource source{.seed = 3, .layer = 1, .sequence = 8, .hashed = hashed};
    source.rows = {.micro = 2, .first_row = 0, .first_sample = 6};
    const Routed whole = routed(all, source);
    source.rows.first_row = 8;
    const Routed part = routed(half, source);
    for (std::size_t i = 0; i < part.rows.size(); ++i) {
      const std::int64_t of_all = whole.rows[16 + i], of_part = part.rows[i];
      EXPECT_EQ(all.expert_of(of_all), half.expert_of(of_part));
      EXPECT_EQ(of_all < all.rows(), of_part < half.rows());
      if (of_part < half.rows()) {
        EXPECT_EQ(of_all % 4, of_part % 4);
      }
    }
  }
}

/// A context-parallel rank chooses as one that holds the whole sequence, and drops the same.
TEST(Routing, ZigZagChunksRouteAsTheWhole) {
  constexpr std::int64_t kSequence = 24, kMicro = 2, kRing = 3, kHeld = 16;
  for (const bool hashed : {false, true}) {
    const RoutingDims all{
        .t = 48, .experts = 5, .k = 2, .capacity = 7, .parts = kRing, .ring = kRing};
    const RoutingDims own{.t = kHeld, .experts = 5, .k = 2, .capacity = 7};
    RoutingSource source{.seed = 3, .layer = 1, .sequence = kSequence, .hashed = hashed};
    source.rows = {.micro = kMicro, .first_row = 0, .first_sample = 6};
    const Routed whole = routed(all, source);
    for (std::int64_t place = 0; place < kRing; ++place) {
      source.rows.positions = {.half = kSequence / (2 * kRing), .ring = kRing, .place = place};
      const Routed part = routed(own, source);
      for (std::int64_t token = 0; token < kHeld; ++token) {
        const std::int64_t global =
            source.rows.position(token) * kMicro + source.rows.sample(token) - 6;
        for (std::int64_t k = 0; k < 2; ++k) {
          const std::int64_t of_all = whole.rows[static_cast<std::size_t>(global * 2 + k)];
          const std::int64_t of_part = part.rows[static_cast<std::size_t>(token * 2 + k)];
          EXPECT_EQ(all.expert_of(of_all), own.expert_of(of_part));
          ASSERT_EQ(of_all < all.rows(), of_part < own.rows());
          if (of_part >= own.rows()) continue;
          EXPECT_EQ(of_all, all.row(own.expert_of(of_part), place, of_part % 7));
        }
      }
    }
    // Evenly: no rank has more than its share of an expert's rows.
    const std::int64_t dropped = std::count_if(whole.rows.begin(), whole.rows.end(),
                                               [&](std::int64_t row) { return row >= all.rows(); });
    EXPECT_EQ(dropped > 0, hashed);
  }
}

template <class T>
class ExpertGradient : public testing::Test {};
using NumberTypes = testing::Types<double, Field>;
TYPED_TEST_SUITE(ExpertGradient, NumberTypes);

constexpr RoutingDims kDims{.t = 4, .experts = 6, .k = 3, .capacity = 2};

TYPED_TEST(ExpertGradient, Route) {
  using T = TypeParam;
  const Rows rows = routed(kDims, {.sequence = 4, .hashed = true}).rows;
  for (const Score score : {Score::softmax, Score::sigmoid}) {
    const Values<T> logits = draw<T>(kDims.t * kDims.experts, 1);
    check_gradient<T>({.name = "route",
                       .forward =
                           [&](const Values<T>& x) {
                             Values<T> probs(12);
                             route_fwd(kDims, score, x.data(), rows.data(), probs.data());
                             return probs;
                           },
                       .backward =
                           [&](const Values<T>& dy) {
                             Values<T> dx(24);
                             route_bwd<T, std::int64_t>(kDims, score,
                                                        {.dprobs = dy.data(),
                                                         .logits = logits.data(),
                                                         .rows = rows.data(),
                                                         .dlogits = dx.data()});
                             return dx;
                           }},
                      logits);
  }
}

TYPED_TEST(ExpertGradient, PermuteAndUnpermute) {
  using T = TypeParam;
  const Rows rows = routed(kDims, {.sequence = 4, .hashed = true}).rows;
  const PermuteDims d{.t = 4, .h = 2, .k = 3, .rows = kDims.rows()};
  check_gradient<T>({.name = "permute",
                     .forward =
                         [&](const Values<T>& x) {
                           Values<T> y(24);
                           permute_fwd(d, x.data(), rows.data(), y.data());
                           return y;
                         },
                     .backward =
                         [&](const Values<T>& dy) {
                           Values<T> dx(8);
                           permute_bwd(d, dy.data(), rows.data(), dx.data());
                           return dx;
                         }},
                    draw<T>(8, 1));
  const Values<T> input = draw<T>(24 + 12, 2);  // y, probs
  check_gradient<T>(
      {.name = "unpermute",
       .forward =
           [&](const Values<T>& v) {
             Values<T> x(8);
             unpermute_fwd<T, std::int64_t>(
                 d, {.y = v.data(), .probs = v.data() + 24, .rows = rows.data(), .x = x.data()});
             return x;
           },
       .backward =
           [&](const Values<T>& dx) {
             Values<T> all(36);
             unpermute_bwd<T, std::int64_t>(d, {.dx = dx.data(),
                                                .y = input.data(),
                                                .probs = input.data() + 24,
                                                .rows = rows.data(),
                                                .dy = all.data(),
                                                .dprobs = all.data() + 24});
             return all;
           }},
      input);
}

TEST(SwapChunks, TurnsBackItsOwnResult) {
  const Values<double> x = draw<double>(24, 1);
  Values<double> y(24), back(24);
  swap_chunks({.a = 2, .b = 3, .n = 4}, x.data(), y.data());
  EXPECT_EQ(y[4], x[12]);  // the first chunk of the second
  swap_chunks({.a = 3, .b = 2, .n = 4}, y.data(), back.data());
  EXPECT_EQ(back, x);
}

TEST(PadGroups, AddsRowsOfZerosAndCutsThem) {
  const Values<double> x = draw<double>(12, 1);  // two groups of 3 rows of 2
  Values<double> y(16, 1.0), back(12);
  pad_groups({.groups = 2, .rows = 3, .to_rows = 4, .n = 2}, x.data(), y.data());
  EXPECT_EQ(y[5], x[5]);
  EXPECT_EQ(y[6], 0.0);
  EXPECT_EQ(y[8], x[6]);
  pad_groups({.groups = 2, .rows = 4, .to_rows = 3, .n = 2}, y.data(), back.data());
  EXPECT_EQ(back, x);
}

}  // namespace
}  // namespace windtunnel::reference
