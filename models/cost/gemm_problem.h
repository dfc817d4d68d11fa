#pragma once
// A matrix product as the library sees it: an m x n output over an inner dimension k, `batch`
// times.
//
// The kernels of `program/kernel.h` name their products by the forward's (M, N, K); the library
// sees the gradients with the dimensions in other places. One op may be two products (the backward
// of unfused attention).

#include <vector>

#include "models/cost/profile.h"

namespace windtunnel {

struct GemmProblem {
  double m = 0, n = 0, k = 0, batch = 1;
  GemmLayout layout = GemmLayout::tn;
  Dtype dtype = Dtype::bf16;
  double output_bytes = 2.0;        // per element of the output: written, and read when accumulated
  bool accumulate_fp32 = false;     // output += in fp32
  std::int64_t aligned_bytes = 16;  // largest power of two, at most 128, that divides every row
  double turns = 1;                 // one of so many like it, on streams in turn

  double flops() const { return 2.0 * m * n * k * batch; }
  double input_bytes() const;
};

/// Products of a gemm-class shape, in order. Precondition: row_of(kernel).cls == gemm.
std::vector<GemmProblem> gemm_problems(const Shape& shape);

}  // namespace windtunnel
