#pragma once
// Operands as the rows of the kernel table (`kernel_rows.h`) share them.

#include <cstddef>
#include <cstdint>

#include "kernels/reference/elementwise.h"
#include "program/kernel.h"

namespace windtunnel {

/// The number type of a call.
template <class C>
using ValueOf = typename C::Value;

namespace kernel_rows {

/// A gradient that the kernel adds to: what is there, or zeros with kOverwrite.
template <class C>
ValueOf<C>* gradient(const C& c, std::size_t output, std::int64_t n) {
  if (!c.has(kOverwrite)) return c.add_to(output, n);
  ValueOf<C>* values = c.out(output, n);
  reference::zero(n, values);
  return values;
}

}  // namespace kernel_rows
}  // namespace windtunnel
