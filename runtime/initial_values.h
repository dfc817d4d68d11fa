#pragma once
// Initial weights as functions of (tensor, global index, seed): every layout starts from the same
// numbers.
//
// Values serve proofs, not training: `ones` and `zeros` are perturbed, so that a norm's gain or a
// bias that is skipped shows in the first step. double: normal 0.5 / sqrt(cols) (unit-variance
// inputs give outputs of the same order), ones 1 + 0.1 n, zeros 0.1 n. field: small integers.

#include <cmath>
#include <cstdint>
#include <string_view>

#include "core/counter_random.h"
#include "kernels/reference/number.h"
#include "program/program.h"

namespace windtunnel {

/// FNV-1a (Fowler, Noll, Vo; 64-bit offset basis and prime of draft-eastlake-fnv).
constexpr std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

/// Draws the elements of one tensor. Padding (index of rows * cols or more) is 0.
template <class T>
struct InitialValues {
  Param::Init init = Param::Init::normal;
  std::int64_t rows = 1, cols = 1;
  std::uint64_t seed = 0, tensor = 0;  // tensor: hash_of its name

  T at(std::int64_t index) const {
    if (index >= rows * cols) return T{};
    const std::uint64_t draw = counter_hash(seed, tensor, static_cast<std::uint64_t>(index));
    if constexpr (reference::Number<T>::exact) {
      switch (init) {
        case Param::Init::normal:
          return reference::Number<T>::integer(static_cast<std::int64_t>(draw % 7) - 3);
        case Param::Init::ones:
          return {1 + draw % 3};
        case Param::Init::zeros:
          return reference::Number<T>::integer(static_cast<std::int64_t>(draw % 5) - 2);
      }
    } else {
      const double n = to_normal(draw);
      switch (init) {
        case Param::Init::normal:
          return 0.5 * n / std::sqrt(static_cast<double>(cols));
        case Param::Init::ones:
          return 1.0 + 0.1 * n;
        case Param::Init::zeros:
          return 0.1 * n;
      }
    }
    return T{};
  }
};

}  // namespace windtunnel
