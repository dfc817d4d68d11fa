#pragma once
// The three products of a linear layer on one rank: forward, input gradient, weight gradient.
//
// A layer may stand for experts side by side: `groups` weights, one below the other, each with its
// part of the rows, multiplied by one grouped kernel. Where products are narrow, operands are read
// quantised (plan/quantized_operand.h), the scales of their blocks beside them; gradients of
// weights can be put off to a segment of their own.

#include <array>

#include "plan/layer_sizes.h"
#include "plan/parameters.h"
#include "plan/quantized_operand.h"

namespace windtunnel {

struct Linear {
  ParameterId weight = 0;
  ParameterId bias = 0;
  bool has_bias = false;
  std::int64_t in = 0, out = 0;  // K and N of this rank
  std::int64_t groups = 0;       // experts side by side; 0: a product of its own
  Module module = Module::mlp;
  int parts = 1;        // separate layers side by side whose input gradients are reduced one by one
  bool frozen = false;  // no gradients of weight and bias
  bool quantized = false;   // its products are in the plan's narrow compute type
  bool overlapped = false;  // they run beside their operands' transfers (plan/overlapped_linear.h)
};

/// What a linear layer's forward read, as its backward finds it.
struct LinearInput {
  SlotId shard = kNone;        // (Ts, K) column-parallel, (T, K) row-parallel; wide products
  SlotId full = kNone;         // (T, K): what forward multiplied
  QuantizedOperand quantized;  // of the shard

  /// What the weight gradient multiplies.
  SlotId for_weight(const Linear& linear) const {
    return linear.quantized ? quantized.columns : shard;
  }
};

/// Operands of one product in the layouts it reads, and the scales of their blocks.
struct ProductOperands {
  SlotId left = kNone, right = kNone, bias = kNone;
  OperandList scales;
  int turns = 1;  // one of so many like it, on streams in turn
};
void add_scales(ProductOperands& operands, SlotId scales);

/// The weight and bias that forward multiplies; the weight quantised where the products are. The
/// left operand is the caller's.
ProductOperands forward_operands(RoleDraft& d, ChunkParameters& p, const Linear& linear);
/// What the input gradient multiplies: the output gradient `dc` and the weight.
ProductOperands input_gradient_operands(RoleDraft& d, ChunkParameters& p, const Linear& linear,
                                        const QuantizedOperand& dc);
/// What the weight gradient multiplies: `dc` and `rows` (R, K) of the input that forward read.
ProductOperands weight_gradient_operands(const QuantizedOperand& dc, const LinearInput& input,
                                         SlotId rows);

/// left (R, K), right (W, K) -> out (R, W); of groups, each.
void forward_product(RoleDraft& d, const Linear& linear, const ProductOperands& o, SlotId out);
/// left (R, N), right (N, K) -> out (R, K); of groups, each.
void input_gradient_product(RoleDraft& d, const Linear& linear, const ProductOperands& o,
                            SlotId out);
/// The same into a tensor of its own.
SlotId input_gradient(RoleDraft& d, const Linear& linear, const ProductOperands& o);
/// The same of one of `parts` layers side by side.
SlotId part_input_gradient(RoleDraft& d, const Linear& linear, const ProductOperands& o, int part);

/// dW += dC^T A, drafted or put off. left: output gradient (R, N), right: input (R, K).
void weight_gradient(RoleDraft& d, ChunkParameters& p, const Linear& linear,
                     const ProductOperands& o);
void bias_gradient(RoleDraft& d, ChunkParameters& p, const Linear& linear, SlotId output_grad);

/// The weight gradients that were put off, in the order they were.
void draft_deferred(RoleDraft& d, ChunkParameters& p,
                    const std::vector<DeferredWeightGrad>& deferred);

/// The rows of a layer that multiplies all it is given: quantised where its products are.
LinearInput row_input(RoleDraft& d, const Linear& linear, SlotId x, MadeBy made_by);

/// C = A W^T + bias of rows that are all here. Names the output.
SlotId local_forward(RoleDraft& d, ChunkParameters& p, const Linear& linear, const LinearInput& a,
                     std::string_view name);
/// Backward of a layer whose rows and weights are of this rank alone, experts or whole on every
/// rank: dC (R, N) and what forward read -> dA (R, K); no transfers.
struct LocalBackward {
  SlotId output_grad = kNone;
  LinearInput input;
  MadeBy grad_made_by = MadeBy::other;
};
SlotId local_backward(RoleDraft& d, ChunkParameters& p, const Linear& linear,
                      const LocalBackward& in);

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
