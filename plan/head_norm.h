#pragma once
// RMS norms over the columns of every query head and of every key head, behind the qkv product and
// before the rotary embedding (Qwen3; Megatron-LM's qk_layernorm).
//
// One weight of a head's width each for all query and all key heads. Where q, k and v are one
// product's output, Megatron-LM's norms copy their columns to be contiguous, values stay a view of
// it and keep it alive, and backward joins the three gradients (core/transformer/attention.py,
// get_query_key_value_tensors). Where they are three products' outputs (`rules.separate_qkv`)
// nothing is copied. Attention reads three tensors; here one, joined at no cost.

#include "plan/columns.h"
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
  /// Of the heads in a row of qkv.
  struct Columns {
    const char* name = "";
    std::int64_t offset = 0, count = 0;
  };
  struct Heads {
    Columns columns;
    ParameterId weight = 0;
    SlotId raw = kNone;
    NormResult normed;
  };
  SlotId taken(SlotId qkv, const Columns& columns, ColumnMove move);
  SlotId joined(const OperandList& qkv, std::string_view name, ColumnMove move);
  ColumnMove by_stack() const;

  RoleDraft& d_;
  ChunkParameters& params_;
  LayerSizes z_;
  int layer_;
  Heads q_, k_;
  Columns v_;
  SlotId qkv_ = kNone;
};

}  // namespace windtunnel
