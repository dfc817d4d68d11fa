#include "core/unit_text.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

TEST(UnitText, Seconds) {
  EXPECT_EQ(format_seconds({13.75}), "13.75 s");
  EXPECT_EQ(format_seconds({2.1e-6}), "2.1 us");
  EXPECT_EQ(format_seconds({0.0}), "0 s");
  EXPECT_EQ(format_seconds({7200.0}), "2 h");
  EXPECT_EQ(format_seconds({0.99999}), "1 s");
  EXPECT_EQ(format_seconds({-0.5}), "-500 ms");
}

TEST(UnitText, BytesAreBinary) {
  EXPECT_EQ(format_bytes({1024.0}), "1 KiB");
  EXPECT_EQ(format_bytes({1023.0}), "1023 B");
  EXPECT_EQ(format_bytes({60.1 * (1 << 30)}), "60.1 GiB");
  EXPECT_EQ(format_bytes({0.0}), "0 B");
}

TEST(UnitText, Rates) {
  EXPECT_EQ(format_bandwidth({3.35e12}), "3.35 TB/s");
  EXPECT_EQ(format_flops_rate({312e12}), "312 TFLOP/s");
}

TEST(UnitText, Counts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1048576), "1,048,576");
  EXPECT_EQ(format_count(-1234), "-1,234");
  EXPECT_EQ(format_count(-123), "-123");
  EXPECT_EQ(format_parameters(174'604'259'328), "174.6 B");
  EXPECT_EQ(format_parameters(124'439'808), "124.4 M");
}

}  // namespace
}  // namespace windtunnel
