#include "core/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace windtunnel {
namespace {

TEST(Dtype, BytesOfWholeTensors) {
  EXPECT_EQ(bytes_of(Dtype::bf16, 3), 6);
  EXPECT_EQ(bytes_of(Dtype::fp8, 3), 3);
  EXPECT_EQ(bytes_of(Dtype::field, 3), 24);
  EXPECT_EQ(bytes_of(Dtype::none, 3), 0);
}

TEST(Dtype, HalfBytesRoundUpOncePerTensor) {
  EXPECT_EQ(bytes_of(Dtype::nvfp4, 4), 2);
  EXPECT_EQ(bytes_of(Dtype::nvfp4, 5), 3);
}

TEST(Dtype, SizesBeyondFourGigabytes) {
  EXPECT_EQ(bytes_of(Dtype::fp32, 175'000'000'000), 700'000'000'000);
}

TEST(Dtype, EveryTypeHasANameOfItsOwn) {
  std::set<std::string> names;
  const int last = static_cast<int>(Dtype::field);
  for (int i = 0; i <= last; ++i) names.insert(name_of(static_cast<Dtype>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(last + 1));
  EXPECT_FALSE(names.contains("?"));
}

}  // namespace
}  // namespace windtunnel
