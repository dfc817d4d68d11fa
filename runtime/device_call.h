#pragma once
// One kernel of one rank on a device: operands are addresses that the host resolved when it issued
// the op.
//
// On a device a tensor has the type the program gives it: fp32 numbers, dropout masks of a byte,
// tokens of eight. The other number types are for proofs and hold everything in their own eight
// bytes.

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "kernels/reference/number.h"
#include "runtime/execution.h"
#include "runtime/kernel_facts.h"

namespace windtunnel {

/// The memory of one operand. `elements` as the program counts them.
struct OperandBlock {
  void* data = nullptr;
  std::int64_t elements = 0;
};

using OperandBlocks = std::array<OperandBlock, kMostOperands>;

template <class T>
struct DeviceCall : KernelFacts {
  /// Field kernels are the reference's; the others are the CPU's.
  static constexpr bool kFast = !reference::Number<T>::exact;
  using Value = T;
  using Mask = std::conditional_t<std::is_same_v<T, float>, std::uint8_t, T>;
  using Token = std::conditional_t<std::is_same_v<T, float>, std::int64_t, T>;

  const OperandBlocks& operands;

  std::int64_t elements(std::size_t i) const { return operands.at(i).elements; }
  const T* in(std::size_t i, std::int64_t n) const { return exactly<T>(i, n); }
  const T* in_at_least(std::size_t i, std::int64_t n) const { return at_least(i, n); }
  T* out(std::size_t i, std::int64_t n) const { return exactly<T>(op.inputs + i, n); }
  T* add_to(std::size_t i, std::int64_t n) const { return exactly<T>(op.inputs + i, n); }
  T* add_to_at_least(std::size_t i, std::int64_t n) const { return at_least(op.inputs + i, n); }

  const Mask* mask_in(std::size_t i, std::int64_t n) const { return exactly<Mask>(i, n); }
  Mask* mask_out(std::size_t i, std::int64_t n) const { return exactly<Mask>(op.inputs + i, n); }
  const Token* tokens_in(std::size_t i, std::int64_t n) const { return exactly<Token>(i, n); }
  Token* tokens_out(std::size_t i, std::int64_t n) const {
    return exactly<Token>(op.inputs + i, n);
  }

 private:
  template <class U>
  U* exactly(std::size_t i, std::int64_t n) const {
    const OperandBlock& block = operands.at(i);
    if (block.elements != n) wrong_size(i, n);
    return static_cast<U*>(block.data);
  }
  T* at_least(std::size_t i, std::int64_t n) const {
    const OperandBlock& block = operands.at(i);
    if (block.elements < n) wrong_size(i, n);
    return static_cast<T*>(block.data);
  }
  [[noreturn]] void wrong_size(std::size_t i, std::int64_t wanted) const {
    throw ExecutionError("operand " + std::to_string(i) + " has " +
                         std::to_string(operands.at(i).elements) + " elements, the kernel takes " +
                         std::to_string(wanted));
  }
};

}  // namespace windtunnel
