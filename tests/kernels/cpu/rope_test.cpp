// The CPU's rotary embedding against the double reference.

#include "kernels/cpu/rope.h"

#include "tests/kernels/against_double.h"

namespace windtunnel {
namespace {

using reference::draw;
using reference::expect_rounded;
using reference::RopeDims;
using reference::Rotation;
using reference::RowPlacement;
using reference::Values;
using reference::widened;

template <class T>
class CpuRope : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuRope, RealTypes);

/// Up to head dims of which not all pairs are kept at once (more than 256), and one without pairs.
constexpr RopeDims kSizes[] = {{.t = 1, .a = 1, .k = 1, .d = 2},
                               {.t = 7, .a = 4, .k = 2, .d = 10},
                               {.t = 6, .a = 2, .k = 1, .d = 300},
                               {.t = 2, .a = 1, .k = 1, .d = 1}};

TYPED_TEST(CpuRope, RotatesQueriesAndKeysBothWays) {
  using T = TypeParam;
  for (const RopeDims& d : kSizes) {
    for (const auto rotation : {Rotation::forward, Rotation::transposed}) {
      for (const RowPlacement& rows :
           {RowPlacement{.micro = 2}, RowPlacement{.micro = 1, .first_row = 9999}}) {
        Values<T> qkv = draw<T>(d.t * (d.a + 2 * d.k) * d.d, 1);
        Values<double> expected = widened(qkv);
        reference::rope(d, rows, rotation, expected.data());
        cpu::rope(d, rows, rotation, qkv.data());
        expect_rounded(expected, qkv, 2, "qkv");  // each element is a sum of two products
      }
    }
  }
}

}  // namespace
}  // namespace windtunnel
