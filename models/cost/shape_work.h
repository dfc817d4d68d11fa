#pragma once
// How much work a kernel shape is: the quantities its time is fitted to.

#include "program/program.h"

namespace windtunnel {

struct ShapeWork {
  double flops = 0.0;  // of its matrix products; 0: it has none
  double bytes = 0.0;  // device memory read and written, each operand once
};

/// FLOP of gemm and attention kernels; the arithmetic of memory-bound kernels goes with their
/// bytes.
ShapeWork shape_work(const Shape& shape);

}  // namespace windtunnel
