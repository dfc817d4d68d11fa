#pragma once
// Column- and row-parallel linear layers and the reductions around them (Megatron-LM tensor
// parallel).
//
// Without sequence parallel: row-parallel outputs and column-parallel input gradients are
// all-reduced. With it: a column-parallel input is all-gathered (again in backward, for the weight
// gradient) and a row-parallel output reduce-scattered; input gradients the other way round.
// `rules.tp_backward_overlap` puts the input-gradient reduction on the tp stream beside the
// weight-gradient product. An `overlapped` layer's own products run beside its transfers
// (plan/overlapped_linear.h).

#include "plan/linear_product.h"

namespace windtunnel {

/// Gathers a column-parallel input under sequence parallel, quantised where the products are.
LinearInput column_input(RoleDraft& d, const LayerSizes& z, const Linear& linear, SlotId x,
                         MadeBy made_by);
/// What backward reads, made again of a recomputed input: rows that were kept gathered still are.
LinearInput made_again(RoleDraft& d, const Linear& linear, const LinearInput& before, SlotId x,
                       MadeBy made_by);

/// (Ts, width) -> (T, width): all-gather under sequence parallel, else the slot itself.
SlotId gather_rows(RoleDraft& d, const LayerSizes& z, SlotId x, std::int64_t width);
/// (T, width) partial sums -> (Ts, width): reduce-scatter under sequence parallel, else all-reduce
/// in place.
SlotId reduce_rows(RoleDraft& d, const LayerSizes& z, SlotId x, std::int64_t width);

/// C = A W^T + bias of a column-parallel layer. Names the output.
SlotId linear_forward(RoleDraft& d, ChunkParameters& p, const Linear& linear, const LinearInput& a,
                      std::string_view name);

/// A W^T of a row-parallel layer, summed over the ranks: (Ts, N).
struct RowForward {
  LinearInput input;
  std::string_view name;  // of the output
};
SlotId row_forward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z, const Linear& linear,
                   const RowForward& in);

/// Column-parallel backward: dC (T, N) and the saved input (Ts, K) -> dA (Ts, K), reduced; the
/// weight and bias gradients are accumulated.
struct ColumnBackward {
  SlotId output_grad = kNone;
  LinearInput input;
  MadeBy grad_made_by = MadeBy::other;
  SlotId summand = kNone;  // (T, K): of an adapter; added before the sum over the ranks
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

}  // namespace windtunnel
