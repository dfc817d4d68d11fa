#include "models/cost/shape_work.h"

#include "models/cost/attention_cost.h"
#include "models/cost/gemm_problem.h"

namespace windtunnel {

namespace {

double flops_of(const Shape& shape) {
  switch (row_of(shape.kernel).cls) {
    case KernelClass::gemm: {
      double sum = 0.0;
      for (const GemmProblem& problem : gemm_problems(shape)) sum += problem.flops();
      return sum;
    }
    case KernelClass::attention:
      return attention_flops(shape);
    default:
      return 0.0;
  }
}

}  // namespace

ShapeWork shape_work(const Shape& shape) {
  return {.flops = flops_of(shape),
          .bytes = static_cast<double>(shape.bytes_read + shape.bytes_written)};
}

}  // namespace windtunnel
