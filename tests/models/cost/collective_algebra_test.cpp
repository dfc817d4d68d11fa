// Closed forms of collectives: oracles O-001..O-006, O-059, O-071..O-073.

#include "models/cost/collective_algebra.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

constexpr double kRounding = 1e-9;  // the oracles are stated to nine digits

CollectiveQuery query(CommKind kind, int ranks, std::int64_t bytes) {
  return {.kind = kind, .bytes = bytes, .placement = {.ranks = ranks}};
}

void expect_near_relative(double got, double expected) {
  EXPECT_NEAR(got / expected, 1.0, kRounding) << "expected " << expected << " got " << got;
}

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

TEST(CollectiveAlgebra, O001RingAllReduce) {
  const Seconds t =
      ring_time(query(CommKind::all_reduce, 8, kGiB), {.alpha = {0}, .beta = {450e9}});
  expect_near_relative(t.value, 4.17566265e-3);
}

TEST(CollectiveAlgebra, O002RingAllReduceWithLatency) {
  const Seconds t =
      ring_time(query(CommKind::all_reduce, 8, kGiB), {.alpha = {5e-6}, .beta = {450e9}});
  expect_near_relative(t.value, 4.24566265e-3);
}

TEST(CollectiveAlgebra, O003AllGatherWireBytes) {
  EXPECT_EQ(wire_bytes(CommKind::all_gather, 8, 134'217'728), 117'440'512);
  EXPECT_EQ(wire_bytes(CommKind::reduce_scatter, 8, 134'217'728), 117'440'512);
}

TEST(CollectiveAlgebra, O004AllToAllWireBytes) {
  EXPECT_EQ(wire_bytes(CommKind::all_to_all, 8, 64 << 20), 58'720'256);
}

TEST(CollectiveAlgebra, O005AllReduceIsReduceScatterThenAllGather) {
  for (const int n : {1, 2, 3, 7, 8, 72, 1000}) {
    for (const std::int64_t chunk : {1, 13, 1 << 20}) {
      const std::int64_t size = chunk * n;
      EXPECT_EQ(wire_bytes(CommKind::all_reduce, n, size),
                wire_bytes(CommKind::reduce_scatter, n, size) +
                    wire_bytes(CommKind::all_gather, n, size));
    }
  }
}

TEST(CollectiveAlgebra, O006BusBandwidth) {
  const auto bus = bus_bandwidth(query(CommKind::all_reduce, 16, kGiB), Seconds{10e-3});
  expect_near_relative(bus.value, 201.326592e9);
}

TEST(CollectiveAlgebra, O059Llama3GradientsOverEight) {
  constexpr std::int64_t kLlama3Parameters = 8'030'261'248;
  EXPECT_EQ(wire_bytes(CommKind::all_reduce, 8, 2 * kLlama3Parameters), 28'105'914'368);
}

TEST(CollectiveAlgebra, O071O072TensorParallelAllReduce) {
  constexpr std::int64_t kActivation = 2LL * 8192 * 8192;  // bf16, s 8192, h 8192
  EXPECT_EQ(wire_bytes(CommKind::all_reduce, 8, kActivation), 234'881'024);
  const Seconds t =
      ring_time(query(CommKind::all_reduce, 8, kActivation), {.alpha = {0}, .beta = {450e9}});
  constexpr double kStated = 1e-6;  // the oracle's own tolerance
  EXPECT_NEAR(t.value / 521.9578e-6, 1.0, kStated);
}

TEST(CollectiveAlgebra, O073CrossEntropyReductions) {
  for (const std::int64_t bytes : cross_entropy_reductions(8192)) EXPECT_EQ(bytes, 32'768);
}

TEST(CollectiveAlgebra, OneRankSendsNothing) {
  EXPECT_EQ(wire_bytes(CommKind::all_reduce, 1, 1 << 20), 0);
  EXPECT_EQ(ring_time(query(CommKind::all_gather, 1, 1 << 20), {.alpha = {1}, .beta = {1}}).value,
            0.0);
}

}  // namespace
}  // namespace windtunnel
