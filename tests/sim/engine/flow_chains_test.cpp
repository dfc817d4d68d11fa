// What does a transfer come after?

#include "sim/engine/flow_chains.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

constexpr std::size_t kNothing = Order::kNothing;

TEST(FlowChains, FirstOfItsStreamComesAfterNothing) {
  const auto orders =
      order_of(std::vector<SweptTransfer>{{.start = 5, .end = 9, .stream = Stream::dp}});
  EXPECT_EQ(orders[0].behind, kNothing);
  EXPECT_EQ(orders[0].follows, kNothing);
}

TEST(FlowChains, ACollectiveThatStartsAtTheEndOfItsStreamFollowsIt) {
  const auto orders = order_of(std::vector<SweptTransfer>{
      {.start = 4, .end = 9, .stream = Stream::dp}, {.start = 0, .end = 4, .stream = Stream::dp}});
  EXPECT_EQ(orders[0].behind, 1u);
  EXPECT_EQ(orders[0].follows, 1u);
  EXPECT_EQ(orders[0].gap, 0);
}

TEST(FlowChains, ElseItFollowsTheComputeStreamOfItsRole) {
  const auto orders = order_of(
      std::vector<SweptTransfer>{{.start = 0, .end = 4, .stream = Stream::dp},
                                 {.start = 1, .end = 6, .stream = Stream::compute},
                                 {.start = 1, .end = 7, .role = 1, .stream = Stream::compute},
                                 {.start = 8, .end = 9, .stream = Stream::dp},
                                 {.start = 8, .end = 10, .stream = Stream::compute}});
  EXPECT_EQ(orders[3].behind, 0u);
  EXPECT_EQ(orders[3].follows, 1u);
  EXPECT_EQ(orders[3].gap, 2);
  EXPECT_EQ(orders[4].follows, 1u);
}

TEST(FlowChains, APointToPointTransferIsOnlyBehindItsStream) {
  const auto orders = order_of(std::vector<SweptTransfer>{
      {.start = 0, .end = 4, .point_to_point = true, .stream = Stream::pp_send_fwd},
      {.start = 0, .end = 4, .stream = Stream::compute},
      {.start = 4, .end = 6, .point_to_point = true, .stream = Stream::pp_send_fwd},
      {.start = 4, .end = 6, .point_to_point = true, .stream = Stream::pp_send_fwd, .lane = 1}});
  EXPECT_EQ(orders[2].behind, 0u);
  EXPECT_EQ(orders[2].follows, kNothing);
  EXPECT_EQ(orders[3].behind, kNothing);
}

}  // namespace
}  // namespace windtunnel
