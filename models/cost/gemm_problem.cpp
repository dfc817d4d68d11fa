#include "models/cost/gemm_problem.h"

#include "core/check.h"

namespace windtunnel {

namespace {

constexpr std::int64_t kWidestAlignment = 128;  // one cache line: wider gains nothing

/// Largest power of two, at most 128, that divides every length of `elements` in bytes.
std::int64_t alignment_of(Dtype dtype, std::initializer_list<std::int64_t> elements) {
  std::int64_t all = kWidestAlignment;
  for (const std::int64_t count : elements) {
    const std::int64_t bytes = bytes_of(dtype, count);
    std::int64_t power = kWidestAlignment;
    while (power > 1 && bytes % power != 0) power /= 2;
    all = std::min(all, power);
  }
  return all;
}

/// Forward, input gradient and weight gradient of a linear layer: dims M, N, K.
GemmProblem linear(const Shape& s) {
  const std::int64_t m = s.dims[0], n = s.dims[1], k = s.dims[2];
  const Dtype in = s.in == Dtype::none ? Dtype::bf16 : s.in;
  const double out = bits_of(s.out == Dtype::none ? in : s.out) / 8.0;
  GemmProblem p{.dtype = in, .output_bytes = out, .aligned_bytes = alignment_of(in, {n, k})};
  const auto md = static_cast<double>(m), nd = static_cast<double>(n), kd = static_cast<double>(k);
  if (s.dims[5] > 1) p.turns = static_cast<double>(s.dims[5]);
  switch (s.kernel) {
    case Kernel::gemm_fwd:
      p.m = md, p.n = nd, p.k = kd, p.layout = GemmLayout::tn;
      break;
    case Kernel::gemm_dgrad:
      p.m = md, p.n = kd, p.k = nd, p.layout = GemmLayout::nn;
      break;
    default:
      p.m = nd, p.n = kd, p.k = md, p.layout = GemmLayout::nt;
      p.accumulate_fp32 = (s.attr & kAccumulate) != 0 && s.out == Dtype::fp32;
      if (s.attr & kAccumulate) p.output_bytes = 2.0 * out;
      break;
  }
  return p;
}

/// The products of experts side by side: one launch, each expert a batch entry of its own.
GemmProblem grouped(const Shape& s) {
  Shape one = s;
  one.kernel = s.kernel == Kernel::grouped_fwd     ? Kernel::gemm_fwd
               : s.kernel == Kernel::grouped_dgrad ? Kernel::gemm_dgrad
                                                   : Kernel::gemm_wgrad;
  GemmProblem p = linear(one);
  p.batch = static_cast<double>(s.dims[3]);
  return p;
}

/// Batched products of unfused attention: dims micro, s, a, k, d.
std::vector<GemmProblem> attention_products(const Shape& s) {
  const Dtype in = s.in == Dtype::none ? Dtype::bf16 : s.in;
  const auto seq = static_cast<double>(s.dims[1]), d = static_cast<double>(s.dims[4]);
  const GemmProblem base{.batch = static_cast<double>(s.dims[0] * s.dims[2]),
                         .dtype = in,
                         .output_bytes = bits_of(in) / 8.0,
                         .aligned_bytes = alignment_of(in, {s.dims[1], s.dims[4]})};
  GemmProblem to_scores = base;  // (s, s) over d: scores, gradient of P
  to_scores.m = seq, to_scores.n = seq, to_scores.k = d, to_scores.layout = GemmLayout::tn;
  GemmProblem to_heads = base;  // (s, d) over s: context, gradients of q, k, v
  to_heads.m = seq, to_heads.n = d, to_heads.k = seq, to_heads.layout = GemmLayout::nn;
  GemmProblem to_heads_transposed = to_heads;
  to_heads_transposed.layout = GemmLayout::nt;
  switch (s.kernel) {
    case Kernel::scores_fwd:
      return {to_scores};
    case Kernel::context_fwd:
      return {to_heads};
    case Kernel::context_bwd:
      return {to_scores, to_heads_transposed};
    default:
      return {to_heads, to_heads_transposed};
  }
}

}  // namespace

double GemmProblem::input_bytes() const {
  return batch * (m * k + k * n) * bits_of(dtype) / 8.0;
}

std::vector<GemmProblem> gemm_problems(const Shape& shape) {
  CHECK(row_of(shape.kernel).cls == KernelClass::gemm, "a matrix product");
  switch (shape.kernel) {
    case Kernel::gemm_fwd:
    case Kernel::gemm_dgrad:
    case Kernel::gemm_wgrad:
      return {linear(shape)};
    case Kernel::grouped_fwd:
    case Kernel::grouped_dgrad:
    case Kernel::grouped_wgrad:
      return {grouped(shape)};
    default:
      return attention_products(shape);
  }
}

}  // namespace windtunnel
