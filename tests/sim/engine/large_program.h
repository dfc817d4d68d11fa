#pragma once
// A synthetic program of the size of llama3-405b's step on 16,384 ranks: tp8 pp16 dp128, 8 chunks
// per pipeline rank, interleaved 1F1B, 41 timed ops per layer and phase, a reduce-scatter over dp
// per chunk after its last micro-batch, hidden behind what backward is left.

#include "tests/sim/engine/toy_pipeline.h"

namespace windtunnel::toy {

struct LargeSpec {
  int micro_batches = 128;
  int draws = 1;
};

Toy large_program(const LargeSpec& spec);

/// Tier T1 with plausible thefts.
void add_theft(Toy& toy);

}  // namespace windtunnel::toy
