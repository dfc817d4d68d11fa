#pragma once
// The numbers the reference kernels compute with: `double`, `float`, and `Field`, the integers
// modulo the Mersenne prime p = 2^31 - 1 held in 64 bits.
//
// With `float` every tensor is float and what one element is computed from is added up in double,
// so that a faster float kernel is tested against something more exact than itself. Only what is
// added into a tensor one row after the other (gradients of biases and norms, of keys and values)
// is rounded to float at each addition.
//
// In the field every order of summation gives the same value, so two plans of one training step
// must agree exactly. What has no meaning in a field (a root, an exponential, a maximum) is
// replaced by a polynomial in each kernel; `Number<T>::exact` selects it.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace windtunnel::reference {

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 31) - 1;

/// One folding of a 64-bit value: congruent modulo p and below 2^34, so that 2^30 of them add up
/// in 64 bits.
constexpr std::uint64_t fold(std::uint64_t x) {
  return (x & kPrime) + (x >> 31);
}

/// An element of the prime field; `value` is below p except for the poison marker.
struct Field {
  std::uint64_t value = 0;

  friend constexpr bool operator==(Field, Field) = default;
  friend constexpr Field operator+(Field a, Field b) { return {(a.value + b.value) % kPrime}; }
  friend constexpr Field operator-(Field a, Field b) {
    return {(a.value + kPrime - b.value) % kPrime};
  }
  friend constexpr Field operator-(Field a) { return {(kPrime - a.value) % kPrime}; }
  friend constexpr Field operator*(Field a, Field b) { return {(a.value * b.value) % kPrime}; }
  constexpr Field& operator+=(Field b) { return *this = *this + b; }
  constexpr Field& operator-=(Field b) { return *this = *this - b; }
  constexpr Field& operator*=(Field b) { return *this = *this * b; }
};

/// a^(p-2), Fermat's inverse. Precondition: a is not 0.
constexpr Field inverse(Field a) {
  Field result{1};
  for (std::uint64_t e = kPrime - 2; e != 0; e >>= 1) {
    if (e & 1) result *= a;
    a *= a;
  }
  return result;
}

/// What differs between the number types.
template <class T>
struct Number;

/// `float` and `double`.
template <class T>
struct RealNumber {
  static constexpr bool exact = false;
  using Wide = double;  // what sums are kept in
  static T integer(std::int64_t i) { return static_cast<T>(i); }
  static T ratio(std::int64_t a, std::int64_t b) {
    return static_cast<T>(static_cast<double>(a) / static_cast<double>(b));
  }
  /// What fresh memory holds; a computed NaN counts as poison too.
  static T poison() { return std::numeric_limits<T>::quiet_NaN(); }
  static bool is_poison(T x) { return std::isnan(x); }
  static double to_double(T x) { return static_cast<double>(x); }
};

template <>
struct Number<double> : RealNumber<double> {};

template <>
struct Number<float> : RealNumber<float> {};

template <>
struct Number<Field> {
  static constexpr bool exact = true;
  using Wide = Field;
  static constexpr Field integer(std::int64_t i) {
    const auto p = static_cast<std::int64_t>(kPrime);
    return {static_cast<std::uint64_t>(((i % p) + p) % p)};
  }
  static constexpr Field ratio(std::int64_t a, std::int64_t b) {
    return integer(a) * inverse(integer(b));
  }
  static constexpr Field poison() { return {~std::uint64_t{0}}; }
  static constexpr bool is_poison(Field x) { return x == poison(); }
  static double to_double(Field x) { return static_cast<double>(x.value); }
};

/// Masks of 0 and 1, tokens and labels are held as numbers like everything else, or as the integers
/// that a program states (uint8 masks, int64 tokens): kernels take the element type as `E`.
template <class E>
constexpr E to_element(std::int64_t i) {
  if constexpr (std::is_integral_v<E>) {
    return static_cast<E>(i);
  } else {
    return Number<E>::integer(i);
  }
}

template <class E>
constexpr std::int64_t to_integer(E x) {
  if constexpr (std::is_integral_v<E>) {
    return static_cast<std::int64_t>(x);
  } else {
    return static_cast<std::int64_t>(Number<E>::to_double(x));
  }
}

/// Sum of products, reduced once at the end: the inner loop of every matrix product.
template <class T>
struct Dot;

template <>
struct Dot<double> {
  double sum = 0.0;
  void add(double a, double b) { sum += a * b; }
  double value() const { return sum; }
};

template <>
struct Dot<float> {
  double sum = 0.0;
  void add(float a, float b) { sum += static_cast<double>(a) * static_cast<double>(b); }
  float value() const { return static_cast<float>(sum); }
};

template <>
struct Dot<Field> {
  std::uint64_t sum = 0;
  void add(Field a, Field b) { sum += fold(a.value * b.value); }
  Field value() const { return {sum % kPrime}; }
};

}  // namespace windtunnel::reference
