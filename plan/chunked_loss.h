#pragma once
// Head and cross entropy over chunks of tokens: the logits of one chunk exist at a time.
//
// The gradients of the head are made in forward, as soon as a chunk's logits are there: the input's
// (T, h) and the weight's (V, h), which backward only passes on (linkedin/Liger-Kernel
// ops/fused_linear_cross_entropy.py). Chunks are as many as the vocabulary is wider than the
// hidden size, so that a chunk's logits are about as large as the input:
//   rows of a chunk = least power of two >= T / ceil(V / h)
//   bytes beside the input, e per element: e rows V + e T h + e V h

#include "plan/parallel_linear.h"

namespace windtunnel {

/// Rows of one chunk of `rows` tokens. Precondition: all positive.
std::int64_t chunk_rows(std::int64_t rows, std::int64_t vocabulary, std::int64_t hidden);

class ChunkedLoss {
 public:
  ChunkedLoss(RoleDraft& draft, ChunkParameters& parameters) : d_(draft), params_(parameters) {}

  struct Input {
    SlotId norm = kNone, labels = kNone;  // (T, h), (T)
    std::int64_t divisor = 1;             // of the sum over the tokens
  };
  /// Forward of head and loss, and the head's gradients; adds to `loss`.
  void forward(const Linear& head, const Input& in, SlotId loss);
  /// Passes the weight's gradient on; returns the input's, reduced: (Ts, h).
  SlotId backward(const Linear& head);

 private:
  struct Chunk {
    SlotId input, labels, input_grad;
    std::int64_t rows, divisor;
  };
  void draft_chunk(const Linear& head, const Chunk& chunk, SlotId loss);

  RoleDraft& d_;
  ChunkParameters& params_;
  SlotId input_grad_ = kNone, weight_grad_ = kNone;  // (T, h), (V, h)
};

}  // namespace windtunnel
