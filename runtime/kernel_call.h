#pragma once
// One kernel of one rank of the interpreter about to run: its operands checked against the sizes
// the kernel expects, and against memory that was never written.

#include <cstdint>
#include <string>

#include "program/program.h"
#include "runtime/execution.h"
#include "runtime/kernel_facts.h"
#include "runtime/rank_memory.h"

namespace windtunnel {

template <class T>
struct KernelCall : KernelFacts {
  static constexpr bool kFast = false;  // the interpreter is what fast kernels are held against
  using Value = T;
  using Mask = T;
  using Token = T;

  RankMemory<T>& memory;

  std::int64_t elements(std::size_t i) const {
    return memory.resolve(slot(checked_input(i)), call.micro_batch).elements();
  }
  /// Input `i` of exactly (or, `at_least`, no fewer than) n elements, all written.
  const T* in(std::size_t i, std::int64_t n) const {
    return memory.written(range(checked_input(i), n), slot(i));
  }
  const T* in_at_least(std::size_t i, std::int64_t n) const {
    return at_least(checked_input(i), n);
  }
  /// Output `i`, overwritten.
  T* out(std::size_t i, std::int64_t n) const {
    const std::size_t operand = op.inputs + i;
    return memory.data(range(operand, n), slot(operand));
  }
  /// Output `i`, added to: must hold numbers already.
  T* add_to(std::size_t i, std::int64_t n) const {
    const std::size_t operand = op.inputs + i;
    const MemoryRange r = range(operand, n);
    memory.written(r, slot(operand));
    return memory.data(r, slot(operand));
  }
  T* add_to_at_least(std::size_t i, std::int64_t n) const {
    const std::size_t operand = op.inputs + i;
    return at_least(operand, n);
  }

  /// Dropout masks and tokens: numbers of the same type here.
  const T* mask_in(std::size_t i, std::int64_t n) const { return in(i, n); }
  T* mask_out(std::size_t i, std::int64_t n) const { return out(i, n); }
  const T* tokens_in(std::size_t i, std::int64_t n) const { return in(i, n); }
  T* tokens_out(std::size_t i, std::int64_t n) const { return out(i, n); }

 private:
  SlotId slot(std::size_t operand) const { return program.operands(op)[operand]; }

  std::size_t checked_input(std::size_t i) const {
    if (i >= op.inputs) throw ExecutionError("misses input " + std::to_string(i));
    return i;
  }
  MemoryRange range(std::size_t operand, std::int64_t n) const {
    if (operand >= op.refs) throw ExecutionError("misses operand " + std::to_string(operand));
    const MemoryRange r = memory.resolve(slot(operand), call.micro_batch);
    if (r.elements() != n) wrong_size(operand, n, r.elements());
    return r;
  }
  T* at_least(std::size_t operand, std::int64_t n) const {
    const MemoryRange r = memory.resolve(slot(operand), call.micro_batch);
    if (r.elements() < n) wrong_size(operand, n, r.elements());
    memory.written(r, slot(operand));
    return memory.data(r, slot(operand));
  }
  [[noreturn]] void wrong_size(std::size_t operand, std::int64_t wanted, std::int64_t got) const {
    throw ExecutionError("operand " + std::to_string(operand) + ", " + memory.name(slot(operand)) +
                         ", has " + std::to_string(got) + " elements, the kernel takes " +
                         std::to_string(wanted));
  }
};

}  // namespace windtunnel
