#pragma once
// Proof of a plan: its program, executed, gives what the same model gives on one device.
//
// Compared at every step: the loss, the squared gradient norm that clipping reads (on every rank),
// every gradient as the optimizer reads it, every weight as the optimizer leaves it and as the
// next micro-batch first reads it. Tensors are compared element by element on every rank that holds
// one, at their global index; a tensor that no rank covers wholly is a difference, and so is a
// padded vocabulary row that is not 0. In the field equality is exact. In fp64 an element may
// differ by `kFp64Tolerance` of the largest element of its tensor. In fp32, losses, norms and
// gradients of the first step are held against fp64, tensor by tensor: later ones have gone through
// AdamW, which makes noise of a gradient that is only rounding.

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"
#include "runtime/execution.h"

namespace windtunnel {

/// Sums taken in another order differ by some 1e-16 times the number of terms; AdamW's division by
/// a small second moment magnifies it a few hundred times.
constexpr double kFp64Tolerance = 1e-11;

/// fp32 against fp64: relative error of a tensor in the Frobenius norm. A sum of K terms errs by
/// sqrt(K) u with u = 2^-24 when roundings are independent; 4 and 1.03 a layer are what
/// Megatron-LM's comparison of gradients across layouts allows (arXiv 2506.09280, theorem 5.3). K:
/// the longest sum of the program, over the tokens of a step or the widest dimension of a
/// parameter.
double fp32_bound(const Program& program);

struct Difference {
  int step = 0;
  std::string what;    // "loss", "norm2", "gradient", "updated weight", "used weight"
  std::string tensor;  // empty for loss and norm2
  std::int64_t index = -1;
  int rank = -1;
  double expected = 0.0, got = 0.0;
};

struct ProofResult {
  std::vector<Difference> differences;  // in the order compared, at most `kKeptDifferences`
  double worst = 0.0;                   // largest relative difference found, kept ones or not
  std::int64_t compared = 0;            // numbers compared

  bool equal() const { return differences.empty(); }
};

constexpr std::size_t kKeptDifferences = 20;

/// "equal (N numbers)", or the first differences, one a line.
std::string text_of(const ProofResult& result);

/// A program and what its execution gave.
struct Executed {
  const Program& program;
  const ExecutionRecord& record;
};
ProofResult compare_records(const Executed& plan, const Executed& one_device, NumberMode mode);

/// Runs both programs `steps` steps from the weights and data of `seed` and compares. Throws
/// ExecutionError when one cannot run.
ProofResult compare(const Program& plan, const Program& one_device, NumberMode mode, int steps,
                    std::uint64_t seed = 1);

}  // namespace windtunnel
