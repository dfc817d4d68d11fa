#pragma once
// The mixture of experts in place of a layer's MLP, as ops.
//
// Router logits and probabilities of this rank's tokens; a permuted copy of each token for each of
// its experts; an all-to-all to the ranks that hold them, where these are shared by tensor parallel
// ranks an all-gather over these; the experts' products, grouped and as narrow as a dense layer's;
// all the way back; the sum weighted by the probabilities; the shared experts, a dense MLP,
// between. With `overlap.ep` rows travel on a stream of their own beside these (Megatron-LM,
// moe_shared_expert_overlap). The order is that of its all-to-all dispatcher
// (core/transformer/moe/token_dispatcher.py). docs/experts.md has the sizes.

#include <string>

#include "plan/expert_exchange.h"
#include "plan/layer_sizes.h"
#include "plan/parallel_linear.h"
#include "plan/parameters.h"

namespace windtunnel {

struct ExpertPlace {
  int layer = 0;
  bool quantized = false;  // all its products but the router's are in the narrow compute type
};

class ExpertMlp {
 public:
  ExpertMlp(RoleDraft& draft, ChunkParameters& parameters, ExpertPlace place);

  void declare_parameters();
  /// x (Ts, h), what the norm gives -> (Ts, h).
  SlotId forward(SlotId x);
  /// Of forward, what is made of the first product, up to what the second one reads.
  void recompute_activation();
  /// The gradient of the output and x -> the gradient of x.
  SlotId backward(SlotId dy, SlotId x);
  /// Makes the shared experts' inner tensors again.
  void recompute_shared(SlotId x);

 private:
  struct Tensors {
    SlotId logits = kNone;   // (Ts, E)
    SlotId probs = kNone;    // (Ts, K)
    SlotId rows = kNone;     // (Ts, K)
    SlotId weights = kNone;  // (G M'), where the activation is weighted
    SlotId fc1 = kNone;      // (G M', f or 2f)
    SlotId silu = kNone, shared_silu = kNone;
    SlotId output = kNone;             // (R, h), back in the order it was sent; else kNone
    LinearInput fc1_input, fc2_input;  // (G M', h), (G M', f)
    SlotId shared_x = kNone;           // (Ts, h): what the first of the inputs below is made of
    SlotId shared_fc1 = kNone;
    LinearInput shared_fc1_input, shared_fc2_input;
  };

  void route(SlotId x);
  void count_on_host(SlotId counts);
  void weigh();
  SlotId activation();
  SlotId combine(SlotId output);
  /// The gradients of what came back and, unless the activation is weighted, of the probabilities.
  struct CombineGrads {
    SlotId output = kNone, probs = kNone;
  };
  CombineGrads combine_backward(SlotId dy);
  /// The gradients of fc1's output and, where the activation is weighted, of the weights.
  struct ActivationGrads {
    SlotId fc1 = kNone, weights = kNone;
  };
  ActivationGrads activation_backward_of(SlotId dactivation);
  SlotId route_backward(SlotId dprobs, SlotId x);
  SlotId shared_output();
  SlotId shared_inner_backward(SlotId dy);
  SlotId sum(SlotId a, SlotId b);
  Linear fc1_linear() const;
  Linear fc2_linear() const;
  bool overlaps_shared() const;
  Linear shared_fc1_linear() const;
  Linear shared_fc2_linear() const;

  RoleDraft& d_;
  ChunkParameters& params_;
  LayerSizes z_;
  ExpertSizes e_;
  ExpertExchange exchange_;
  LayerSizes of_experts_, of_shared_;  // what activations are made of
  int layer_;
  bool quantized_;
  ParameterId router_ = 0, fc1_ = 0, fc2_ = 0, shared_fc1_ = 0, shared_fc2_ = 0;
  Tensors t_;
};

}  // namespace windtunnel
