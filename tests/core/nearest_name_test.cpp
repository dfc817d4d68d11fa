#include "core/nearest_name.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

TEST(NearestName, FindsTheTypingError) {
  EXPECT_EQ(nearest_name("modle", {"name", "model", "mode"}), "model");  // swap: one edit
  EXPECT_EQ(nearest_name("sequence_paralel", {"sequence_parallel", "schedule"}),
            "sequence_parallel");
  EXPECT_EQ(nearest_name("ADAMW", {"adamw", "sgd"}), "adamw");
  EXPECT_EQ(nearest_name("tpp", {"tp", "pp"}), "tp");  // the first of equals
}

TEST(NearestName, LeavesStrangersAlone) {
  EXPECT_FALSE(nearest_name("banana", {"tp", "pp", "schedule"}));
  EXPECT_FALSE(nearest_name("", {"tp"}));
  EXPECT_FALSE(nearest_name(std::string(1'000'000, 'x'), {"tp"}));
  EXPECT_FALSE(nearest_name("x", {}));
}

}  // namespace
}  // namespace windtunnel
