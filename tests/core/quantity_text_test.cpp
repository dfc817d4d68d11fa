#include "core/quantity_text.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

TEST(QuantityText, EveryUnitOfTime) {
  EXPECT_EQ(parse_seconds("3 ps").value.value, 3e-12);
  EXPECT_EQ(parse_seconds("3 ns").value.value, 3e-9);
  EXPECT_EQ(parse_seconds("2 us").value.value, 2e-6);
  EXPECT_EQ(parse_seconds("2.5 ms").value.value, 2.5e-3);
  EXPECT_EQ(parse_seconds("13.75 s").value.value, 13.75);
  EXPECT_EQ(parse_seconds("2 min").value.value, 120.0);
  EXPECT_EQ(parse_seconds("1.5 h").value.value, 5400.0);
  EXPECT_EQ(parse_seconds("54 d").value.value, 54.0 * 86400.0);
  EXPECT_EQ(parse_seconds("0 s").value.value, 0.0);
  EXPECT_EQ(parse_seconds("2us").value.value, 2e-6);
}

TEST(QuantityText, ThousandsAndPowersOfTwo) {
  EXPECT_EQ(parse_bytes("60 GB").value.value, 60e9);
  EXPECT_EQ(parse_bytes("1 GiB").value.value, 1073741824.0);
  EXPECT_EQ(parse_bytes("1 KiB").value.value, 1024.0);
  EXPECT_EQ(parse_bytes("1 kB").value.value, 1000.0);
  EXPECT_EQ(parse_bytes_per_second("200 Gbit/s").value.value, 25e9);
  EXPECT_EQ(parse_bytes_per_second("25 GB/s").value.value, 25e9);
  EXPECT_EQ(parse_bytes_per_second("1 GiB/s").value.value, 1073741824.0);
  EXPECT_EQ(parse_flops_per_second("312 TFLOP/s").value.value, 312e12);
}

struct Wrong {
  const char* text;
  const char* problem;
};

class WrongTimes : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongTimes, SayWhy) {
  const auto parsed = parse_seconds(GetParam().text);
  EXPECT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.problem, GetParam().problem);
  EXPECT_NE(parsed.hint.find("13.75 s"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, WrongTimes,
                         ::testing::Values(Wrong{"13.75", "has no unit"},
                                           Wrong{"", "is not a number with a unit"},
                                           Wrong{"fast", "is not a number with a unit"},
                                           Wrong{"nan s", "is not a number with a unit"},
                                           Wrong{"inf s", "is not a number with a unit"},
                                           Wrong{"-1 s", "must not be negative"},
                                           Wrong{"1e999 s", "the number is out of range"},
                                           Wrong{"1e308 d", "the number is out of range"},
                                           Wrong{"1 S", "does not end in a unit of time"},
                                           Wrong{"1 s s", "does not end in a unit of time"},
                                           Wrong{"1,5 s", "does not end in a unit of time"}));

TEST(QuantityText, HintsNameTheUnitThatWasMeant) {
  EXPECT_EQ(parse_bytes_per_second("200 Gb/s").hint.substr(0, 24), "did you mean \"Gbit/s\"? u");
  EXPECT_EQ(parse_bytes("60 Gb").hint.substr(0, 20), "did you mean \"GB\"? u");
  EXPECT_EQ(parse_seconds("2 usec").hint.substr(0, 20), "did you mean \"us\"? u");
}

}  // namespace
}  // namespace windtunnel
