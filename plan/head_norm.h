#pragma once
// RMS norms over the columns of every query head and of every key head, behind the qkv product and
// before the rotary embedding (Qwen3; Megatron-LM's qk_layernorm).
//
// One weight of a head's width each for all query and all key heads. Where q, k and v are one
// product's output, Megatron-LM's norms copy their columns to be contiguous, values stay a view of
// it and keep it alive, and backward joins the three gradients (core/transformer/attention.py,
// get_query_key_value_tensors). Where they are three products' outputs (`rules.separate_qkv`)
// nothing is copied. Attention reads three tensors; here one, joined at no cost.

#include "plan/elementwise.h"
#include "plan/layer_sizes.h"

namespace windtunnel {

class HeadNorms {
 public:
  HeadNorms(RoleDraft& draft, ChunkParameters& parameters, int layer);

  void declare_parameters();
  /// (T, (a + 2k) d) -> the same with its query and key heads normed.
  SlotId forward(SlotId qkv);
  /// Gradient of forward's output -> of its input.
  SlotId backward(SlotId dqkv);

 private:
  struct Heads {
    const char* name;
    std::int64_t offset = 0, columns = 0;  // of the heads in a row of qkv
    ParameterId weight = 0;
    SlotId raw = kNone;
    NormResult normed;
  };
  SlotId columns_of(SlotId qkv, const char* name, const Heads& heads, bool copied);
  SlotId joined(SlotId q, SlotId k, SlotId v, const char* name, bool copied);
  Heads values() const;

  RoleDraft& d_;
  ChunkParameters& params_;
  LayerSizes z_;
  int layer_;
  Heads q_, k_;
  SlotId qkv_ = kNone;
};

}  // namespace windtunnel
