#include "kernels/cpu/rope.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace windtunnel::cpu {

namespace {

/// Pairs whose sines are kept at once: all of a head up to d = 256.
constexpr std::int64_t kPairs = 128;

/// Sines and cosines of one position's pairs [first, first + n).
template <class T>
class PairAngles {
 public:
  PairAngles(const RopeDims& dims, Rotation rotation, std::int64_t first, std::int64_t n) : n_(n) {
    const double sign = rotation == Rotation::forward ? 1.0 : -1.0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double exponent = -2.0 * static_cast<double>(first + i) / static_cast<double>(dims.d);
      frequencies_[at(i)] = sign * std::pow(reference::kRopeBase, exponent);
    }
  }

  void set_position(std::int64_t position) {
    if (position == position_) return;  // rows of the same position follow each other
    position_ = position;
    for (std::int64_t i = 0; i < n_; ++i) {
      const double angle = static_cast<double>(position) * frequencies_[at(i)];
      cosines_[at(i)] = static_cast<T>(std::cos(angle));
      sines_[at(i)] = static_cast<T>(std::sin(angle));
    }
  }

  /// x0, x1 (n): the two halves of the pairs.
  void rotate(T* x0, T* x1) const {
    const T* c = cosines_.data();
    const T* s = sines_.data();
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n_; ++i) {
      const T a = x0[i], b = x1[i];
      x0[i] = c[i] * a - s[i] * b;
      x1[i] = s[i] * a + c[i] * b;
    }
  }

 private:
  static std::size_t at(std::int64_t i) {
    return static_cast<std::size_t>(i);
  }

  std::int64_t n_, position_ = -1;
  std::array<double, kPairs> frequencies_;
  std::array<T, kPairs> cosines_, sines_;
};

}  // namespace

template <class T>
void rope(const RopeDims& dims, const RowPlacement& rows, Rotation rotation, T* qkv) {
  const std::int64_t width = (dims.a + 2 * dims.k) * dims.d;
  const std::int64_t half = dims.d / 2;
  for (std::int64_t first = 0; first < half; first += kPairs) {
    PairAngles<T> angles(dims, rotation, first, std::min(kPairs, half - first));
    for (std::int64_t r = 0; r < dims.t; ++r) {
      angles.set_position(rows.position(r));
      for (std::int64_t head = 0; head < dims.a + dims.k; ++head) {
        T* x = qkv + r * width + head * dims.d + first;
        angles.rotate(x, x + half);
      }
    }
  }
}

template void rope(const RopeDims&, const RowPlacement&, Rotation, float*);
template void rope(const RopeDims&, const RowPlacement&, Rotation, double*);

}  // namespace windtunnel::cpu
