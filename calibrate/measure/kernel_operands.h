#pragma once
// The memory a kernel of a shape works on: what a measurement has to make up in place of a program.
//
// Sizes and order are those of `program/kernel.h`, with what the program does in place done in
// place. The first input is `recent`: the op before has just written it, so a step finds it in the
// cache if it fits. Everything else is `old`: weights, gradients, optimizer states, what an earlier
// op or the forward left, and outputs, for which the allocator serves any block of their size and
// not the one used last. So are all operands of the optimizer's kernels.

#include <cstdint>
#include <vector>

#include "program/program.h"

namespace windtunnel {

enum class Touched : std::uint8_t { recent, old };

/// numbers: normal; positive: their absolute value and a bit (sums, variances, probabilities);
/// choices: permuted rows, each once.
enum class Content : std::uint8_t { numbers, positive, tokens, choices, mask };

struct KernelOperand {
  std::int64_t elements = 0;
  Content content = Content::numbers;
  int same_as = -1;  // in place: the operand whose memory this is
  Touched touched = Touched::old;
  std::int64_t below = 0;  // choices: what they are less than
};

struct KernelOperands {
  std::vector<KernelOperand> all;  // inputs first
  int inputs = 0;
  /// In place and smaller with every run: has to be filled again before each.
  bool decays = false;
};

/// Precondition: a kernel of the device, not host work.
KernelOperands operands_of(const Shape& shape);

}  // namespace windtunnel
