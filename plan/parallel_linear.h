#pragma once
// Column- and row-parallel linear layers and the reductions around them (Megatron-LM tensor
// parallel).
//
// Without sequence parallel: row-parallel outputs and column-parallel input gradients are
// all-reduced. With it: a column-parallel input is all-gathered (again in backward, for the weight
// gradient) and a row-parallel output reduce-scattered; input gradients the other way round.
// `rules.tp_backward_overlap` puts the input-gradient reduction on the tp stream beside the
// weight-gradient product.

#include "plan/layer_sizes.h"
#include "plan/parameters.h"
#include "plan/quantized_operand.h"

namespace windtunnel {

struct Linear {
  ParameterId weight = 0;
  ParameterId bias = 0;
  bool has_bias = false;
  std::int64_t in = 0, out = 0;  // K and N of this rank
  Module module = Module::mlp;
  int parts = 1;  // separate layers side by side whose input gradients are reduced one by one
  bool quantized = false;  // its products are in the plan's narrow compute type
};

/// What a linear layer's forward read, as its backward finds it.
struct LinearInput {
  SlotId shard = kNone;        // (Ts, K) column-parallel, (T, K) row-parallel; wide products
  SlotId full = kNone;         // (T, K): what forward multiplied
  QuantizedOperand quantized;  // of the shard
};
/// Gathers a column-parallel input under sequence parallel, quantised where the products are.
LinearInput column_input(RoleDraft& d, const LayerSizes& z, const Linear& linear, SlotId x,
                         MadeBy made_by);
/// The same without the gather: what backward reads, made again of a recomputed input.
LinearInput kept_input(RoleDraft& d, const Linear& linear, SlotId x, MadeBy made_by);
LinearInput row_input(RoleDraft& d, const Linear& linear, SlotId x, MadeBy made_by);
/// Of a layer that is whole on every rank: this rank's rows.
LinearInput replicated_input(RoleDraft& d, const Linear& linear, SlotId x);

/// (Ts, width) -> (T, width): all-gather under sequence parallel, else the slot itself.
SlotId gather_rows(RoleDraft& d, const LayerSizes& z, SlotId x, std::int64_t width);
/// (T, width) partial sums -> (Ts, width): reduce-scatter under sequence parallel, else all-reduce
/// in place.
SlotId reduce_rows(RoleDraft& d, const LayerSizes& z, SlotId x, std::int64_t width);

/// C = A W^T + bias. Names the output.
SlotId linear_forward(RoleDraft& d, ChunkParameters& p, const Linear& linear, const LinearInput& a,
                      std::string_view name);

/// Column-parallel backward: dC (T, N) and the saved input (Ts, K) -> dA (Ts, K), reduced; the
/// weight and bias gradients are accumulated.
struct ColumnBackward {
  SlotId output_grad = kNone;
  LinearInput input;
  MadeBy grad_made_by = MadeBy::other;
};
SlotId column_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z, const Linear& linear,
                       const ColumnBackward& in);

/// Row-parallel backward: dC (Ts, N), gathered under sequence parallel, and the saved input (T, K)
/// -> dA (T, K).
struct RowBackward {
  SlotId output_grad = kNone;
  LinearInput input;
};
SlotId row_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z, const Linear& linear,
                    const RowBackward& in);

/// Backward of a layer that is whole on every rank, of this rank's rows: dC (Ts, N) and the input
/// (Ts, K) -> dA (Ts, K); no transfers.
struct ReplicatedBackward {
  SlotId output_grad = kNone;
  LinearInput input;
};
SlotId replicated_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z,
                           const Linear& linear, const ReplicatedBackward& in);

/// Drafts a weight gradient, or puts it off.
void put_weight_gradient(RoleDraft& d, ChunkParameters& p, const DeferredWeightGrad& gradient);

/// The weight gradients that were put off, in the order they were.
void draft_deferred(RoleDraft& d, ChunkParameters& p,
                    const std::vector<DeferredWeightGrad>& deferred);

/// Adds one kernel's gradient of a parameter: straight into the accumulation buffer, or through a
/// half-precision gradient, by the framework's rule.
struct GradientTarget {
  SlotId slot = kNone;     // what the kernel writes
  bool accumulate = true;  // the kernel adds to `slot` instead of overwriting it
  bool direct = false;     // `slot` is the gradient itself although the kernel overwrites it
};
GradientTarget gradient_target(RoleDraft& d, ChunkParameters& p, ParameterId id);
void finish_gradient(RoleDraft& d, ChunkParameters& p, ParameterId id,
                     const GradientTarget& target);

}  // namespace windtunnel
