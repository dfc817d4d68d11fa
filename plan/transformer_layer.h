#pragma once
// One transformer layer as ops: forward, backward, and the parts of forward that backward
// recomputes.
//
// Attention and MLP follow each other, or read one norm and are both added to its input
// (docs/parallel_block.md).
//
// Tensor parallelism is Megatron's (Shoeybi et al. 2019; Korthikanti et al. 2022 for sequence
// parallel): qkv and fc1 are column-parallel, o and fc2 row-parallel. Forward fills a
// `LayerTensors` with every intermediate; backward reads it. Recomputing a part emits its forward
// again and overwrites the entries, so that the first copies are used only in forward and are freed
// there.

#include <optional>

#include "plan/expert_mlp.h"
#include "plan/head_norm.h"
#include "plan/latent_attention.h"
#include "plan/layer_adapters.h"
#include "plan/layer_sizes.h"
#include "plan/parallel_linear.h"
#include "plan/parameters.h"

namespace windtunnel {

/// A parallel block has one norm.
struct LayerParameters {
  ParameterId norm1_weight = 0, norm1_bias = 0, qkv_weight = 0, qkv_bias = 0, o_weight = 0,
              o_bias = 0;
  ParameterId norm2_weight = 0, norm2_bias = 0, fc1_weight = 0, fc1_bias = 0, fc2_weight = 0,
              fc2_bias = 0;
};

/// (rows, columns) per rank; Ts = norm rows.
struct LayerTensors {
  SlotId input = kNone;                                           // (Ts, h)
  SlotId rope_tables = kNone;                                     // (n T, d)
  SlotId attention_copies = kNone;                                // (T, n a d)
  SlotId normalized1 = kNone, normalized2 = kNone, silu = kNone;  // kept by unfused kernels
  SlotId norm1 = kNone, norm1_stats = kNone;                      // (Ts, h)
  LinearInput qkv_input, o_input, fc1_input, fc2_input;           // what the linear layers read
  SlotId qkv = kNone;                                             // (T, (a+2k)d)
  SlotId qkv_copy = kNone;  // (T, (a+2k)d): transposed copies, rules.qkv_copies
  SlotId lse = kNone;       // (T a), flash
  SlotId core_qkv = kNone, core_context = kNone;  // (n T, (a+2k)d/n), (n T, a d/n): of all rows
  SlotId probs = kNone, dropped = kNone, probs_mask = kNone;  // (micro a, s, s), unfused
  SlotId context = kNone;                                     // (T, a d)
  SlotId mask1 = kNone, residual1 = kNone;                    // (Ts, h)
  SlotId norm2 = kNone, norm2_stats = kNone;
  SlotId fc1 = kNone;                    // (T, f or 2f)
  SlotId activation = kNone;             // (T, f)
  SlotId mask2 = kNone, output = kNone;  // (Ts, h)
};

struct LayerPlace {
  int layer = 0;                   // global
  int index_in_stage = 0;          // over the role's chunks, for `recompute.layers`
  std::optional<int> like = {};    // the model's layer whose kind it is, when it follows them
  bool input_is_constant = false;  // nothing before it is trained
};

class TransformerLayer {
 public:
  TransformerLayer(RoleDraft& draft, ChunkParameters& parameters, LayerPlace place);

  void declare_parameters();
  /// Emits forward from `input` (Ts, h); returns the output slot.
  SlotId forward(SlotId input);
  /// Emits what this layer recomputes, then backward from the gradient of the output; returns the
  /// gradient of the input, kNone where it needs none.
  SlotId backward(SlotId output_grad);
  int number() const { return layer_; }
  /// Whether its products are in the narrow compute type.
  bool quantized() const { return quantized_; }
  /// Whether the whole layer is recomputed in backward.
  bool fully_recomputed() const { return full_recompute_; }

 private:
  // forward parts
  void forward_attention_norm();
  void forward_qkv();
  void forward_core_attention();
  void forward_core();
  void forward_flash();
  void forward_unfused();
  void forward_attention_output();
  void forward_mlp_norm();
  void forward_mlp_in();
  void forward_activation();
  void forward_mlp_out();
  void forward_mlp();
  void recompute_norm_of_mlp();
  void recompute_mlp();
  void recompute_before_attention();
  // backward parts
  void recompute_before_backward();
  SlotId backward_mlp(SlotId dy);
  SlotId backward_parallel(SlotId dy);
  SlotId mlp_norm_gradient(SlotId dy);
  SlotId attention_norm_gradient(SlotId dy);
  SlotId attention_norm_backward(SlotId dnorm, SlotId dy);
  SlotId backward_dense(SlotId branch);
  SlotId backward_attention(SlotId dy);
  SlotId backward_core_attention(SlotId dcontext);
  SlotId backward_core(SlotId dcontext);
  SlotId backward_unfused(SlotId dcontext);
  // its linear layers
  Linear qkv() const;
  Linear o() const;
  Linear fc1() const;
  Linear fc2() const;
  SlotId attention_output();
  SlotId mlp_output();

  RoleDraft& d_;
  ChunkParameters& params_;
  LayerSizes z_, core_;  // core_: of the attention between exchanges of heads
  int layer_;
  std::int64_t window_;     // keys a query sees at most; 0: all before it
  bool quantized_ = false;  // its products are in the narrow compute type
  bool full_recompute_ = false;
  bool recompute_attention_ = false, recompute_core_ = false, recompute_mlp_ = false,
       recompute_norm_ = false, recompute_activation_ = false, recompute_shared_ = false,
       recompute_up_ = false;
  std::optional<HeadNorms> head_norms_;
  std::optional<LatentAttention> latent_;  // in place of the qkv product
  std::optional<ExpertMlp> experts_;       // in place of the MLP
  LayerAdapters adapters_;
  bool parallel_ = false;         // y = x + attention(norm x) + mlp(norm x)
  bool frozen_ = false;           // all but adapters
  bool input_needs_grad_ = true;  // else backward ends at the last of them
  LayerParameters p_;
  LayerTensors t_;
};

}  // namespace windtunnel
