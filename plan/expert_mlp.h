#pragma once
// The mixture of experts in place of a layer's MLP, as ops.
//
// Router logits and probabilities of this rank's tokens; a permuted copy of each token for each of
// its experts; an all-to-all to the ranks that hold them, where these are shared by tensor parallel
// ranks an all-gather over these; the experts' products, grouped; all the way back; the sum
// weighted by the probabilities; the shared experts, a dense MLP, beside. The order is that of
// Megatron-LM's all-to-all dispatcher (core/transformer/moe/token_dispatcher.py). docs/experts.md
// has the sizes.

#include <string>

#include "plan/layer_sizes.h"
#include "plan/parallel_linear.h"
#include "plan/parameters.h"

namespace windtunnel {

/// Per rank. R permuted rows of its own tokens; G experts held, M rows of each from all sources.
struct ExpertSizes {
  std::int64_t experts, top_k, capacity, parts;
  std::int64_t held;      // G
  std::int64_t sources;   // ranks whose tokens an expert here gets
  std::int64_t permuted;  // R = E * parts * capacity
  std::int64_t rows;      // G * M
  std::int64_t ffn, fc1;  // of an expert's part on this rank
  std::int64_t shared;    // width of the shared experts on this rank

  ExpertSizes(const RoleDraft& d, const LayerSizes& z);
};

class ExpertMlp {
 public:
  ExpertMlp(RoleDraft& draft, ChunkParameters& parameters, int layer);

  void declare_parameters();
  /// x (Ts, h), what the norm gives -> (Ts, h).
  SlotId forward(SlotId x);
  /// Of forward, what only an activation is made again from.
  void recompute_activation();
  /// The gradient of the output and x -> the gradient of x.
  SlotId backward(SlotId dy, SlotId x);
  /// Makes the shared experts' inner tensors again.
  void recompute_shared(SlotId x);

 private:
  struct Tensors {
    SlotId logits = kNone;      // (Ts, E)
    SlotId probs = kNone;       // (Ts, K)
    SlotId rows = kNone;        // (Ts, K)
    SlotId input = kNone;       // (G M, h)
    SlotId fc1 = kNone;         // (G M, f or 2f)
    SlotId activation = kNone;  // (G M, f)
    SlotId silu = kNone, shared_silu = kNone;
    SlotId output = kNone;        // (R, h), back in the order it was sent
    SlotId shared_input = kNone;  // (T, h)
    SlotId shared_fc1 = kNone, shared_activation = kNone;
  };

  void route(SlotId x);
  void count_on_host(SlotId counts);
  void products();
  SlotId to_experts(SlotId permuted);
  SlotId from_experts(SlotId rows);
  SlotId exchange(SlotId x, const char* name);
  SlotId grouped(Kernel kernel, SlotId x, const Linear& linear, const char* name);
  void weight_gradient(const Linear& linear, SlotId dy, SlotId x);
  SlotId shared_forward(SlotId x);
  SlotId shared_backward(SlotId dy, SlotId x);
  SlotId sum(SlotId a, SlotId b);
  Linear fc1_linear() const;
  Linear fc2_linear() const;
  Linear shared_fc1_linear() const;
  Linear shared_fc2_linear() const;

  RoleDraft& d_;
  ChunkParameters& params_;
  LayerSizes z_;
  ExpertSizes e_;
  LayerSizes of_experts_, of_shared_;  // what activations are made of
  int layer_;
  ParameterId router_ = 0, fc1_ = 0, fc2_ = 0, shared_fc1_ = 0, shared_fc2_ = 0;
  Tensors t_;
};

}  // namespace windtunnel
