#pragma once
// What a transfer does with numbers, for implementations that reduce themselves: sizes of a
// member's part and sums in member order.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/device/communicator.h"
#include "kernels/reference/number.h"

namespace windtunnel {

/// Elements a member puts in and gets out among n members.
struct PartSizes {
  std::int64_t in = 0, out = 0;
};

constexpr PartSizes part_sizes(WireKind kind, std::int64_t elements, std::int64_t n) {
  switch (kind) {
    case WireKind::all_gather:
      return {.in = elements / n, .out = elements};
    case WireKind::reduce_scatter:
      return {.in = elements, .out = elements / n};
    default:
      return {.in = elements, .out = elements};
  }
}

/// Calls `visit` with a number of the wire's C++ type: float, double or Field.
template <class Visit>
decltype(auto) with_number_of(WireType type, Visit visit) {
  switch (type) {
    case WireType::fp32:
      return visit(float{});
    case WireType::fp64:
      return visit(double{});
    case WireType::field:
      break;
  }
  return visit(reference::Field{});
}

/// a += b of one element; the maximum has no meaning in the field, kernels that use it give 0.
template <class T>
T reduce_two(Reduction reduction, T a, T b) {
  if (reduction != Reduction::max) return a + b;
  if constexpr (std::is_same_v<T, reference::Field>) {
    return T{};
  } else {
    return std::max(a, b);
  }
}

/// What a sum over n members is multiplied with to be their average.
template <class T>
T share_of(std::int64_t n) {
  return reference::Number<T>::ratio(1, n);
}

}  // namespace windtunnel
