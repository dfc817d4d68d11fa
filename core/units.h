#pragma once
// Quantities with units in their types.
//
// A `Quantity<Tag>` is a double in the SI base of its dimension (seconds, bytes, FLOP). Only
// operators that mean something exist: like adds to like, a quantity scales by a number, and
// amount / time gives a rate. Conversions and formatting live in `core/unit_text.h`.

#include <compare>
#include <cstdint>

namespace windtunnel {

template <class Tag>
struct Quantity {
  double value = 0.0;

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator*(Quantity a, double k) { return {a.value * k}; }
  friend constexpr Quantity operator*(double k, Quantity a) { return {a.value * k}; }
  friend constexpr Quantity operator/(Quantity a, double k) { return {a.value / k}; }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
  constexpr Quantity& operator+=(Quantity b) {
    value += b.value;
    return *this;
  }
};

using Seconds = Quantity<struct SecondsTag>;
using Bytes = Quantity<struct BytesTag>;
using Flops = Quantity<struct FlopsTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;

constexpr Seconds operator/(Bytes b, BytesPerSecond r) {
  return {b.value / r.value};
}
constexpr Seconds operator/(Flops f, FlopsPerSecond r) {
  return {f.value / r.value};
}
constexpr BytesPerSecond operator/(Bytes b, Seconds t) {
  return {b.value / t.value};
}
constexpr FlopsPerSecond operator/(Flops f, Seconds t) {
  return {f.value / t.value};
}

/// The simulated clock of a step: integer picoseconds.
using Picoseconds = std::int64_t;
constexpr double kPicosecondsPerSecond = 1e12;

/// Rounds a cost once, to the nearest picosecond. Precondition: 0 <= s < 9.2e6 s.
constexpr Picoseconds to_picoseconds(Seconds s) {
  return static_cast<Picoseconds>(s.value * kPicosecondsPerSecond + 0.5);
}
constexpr Seconds from_picoseconds(Picoseconds ps) {
  return {static_cast<double>(ps) / kPicosecondsPerSecond};
}

}  // namespace windtunnel
