#pragma once
// Pipeline programs for the engine's tests: the orders of GPipe, 1F1B and interleaved 1F1B, each
// pass one compute op (or whatever the test puts there), transfers asynchronous.

#include <functional>
#include <vector>

#include "tests/sim/engine/toy_program.h"

namespace windtunnel::toy {

enum class Order { gpipe, one_f_one_b, interleaved };

struct PipelineSpec {
  Order order = Order::one_f_one_b;
  int stages = 1;  // pipeline ranks
  int micro_batches = 1;
  int chunks = 1;  // per pipeline rank
  int group = 0;   // interleaved: micro-batches per group; 0: stages
  Picoseconds forward = units(1), backward = units(2);  // of one rank's layers
  Picoseconds hop = 0;
  int tp = 1, cp = 1, dp = 1;
  /// Instead of one compute op: writes the ops of a pass of the given chunk.
  std::function<void(Toy&, int role, int chunk, bool backward)> body;
};

struct Pass {
  bool backward = false;
  int chunk = 0;
  int micro_batch = 0;
};

/// What rank `rank` does, in order.
std::vector<Pass> passes_of(const PipelineSpec& spec, int rank);

/// 1F1B as Megatron's non-interleaved schedule posts its transfers: a send and the receive that
/// follows it as one batch, and the compute stream waits. `on_compute`: the batches run on the
/// compute stream itself, else on the streams of the sends with an event for compute to wait for.
enum class Batches { on_compute, on_side };
Toy batched_1f1b(const PipelineSpec& spec, Batches where);

/// The whole program; `forward` and `backward` are split evenly over a rank's chunks.
Toy pipeline(const PipelineSpec& spec);

}  // namespace windtunnel::toy
