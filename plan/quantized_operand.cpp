#include "plan/quantized_operand.h"

#include <algorithm>

#include "core/check.h"

namespace windtunnel {

namespace {

/// Elements of one block, and how its scale is stored (TransformerEngine,
/// common/recipe/__init__.py: Float8BlockScaling 1 x 128 and 128 x 128 with fp32 scales,
/// MXFP8BlockScaling 32 with E8M0, NVFP4BlockScaling 16 with E4M3).
struct Blocks {
  std::int64_t elements = 0;  // 0: the tensor has one scale
  Dtype scale = Dtype::none;
};

Blocks blocks_of(const RoleDraft& d, OperandRole role) {
  switch (d.plan().scaling) {
    case ScalingRecipe::blockwise:
      return {role == OperandRole::weight ? 128 * 128 : 128, Dtype::fp32};
    case ScalingRecipe::mxfp8:
      return {32, Dtype::uint8};
    case ScalingRecipe::nvfp4:
      return {16, Dtype::uint8};
    default:
      return {};
  }
}

constexpr int kMostLaunches = 255;  // that one op can count

bool reads_twice(const RoleDraft& d) {
  return d.plan().scaling == ScalingRecipe::tensorwise || d.plan().scaling == ScalingRecipe::nvfp4;
}

/// A kept operand is made by the first micro-batch, and not again by what is recomputed.
class Maker {
 public:
  Maker(RoleDraft& d, const QuantizeRequest& q)
      : d_(d),
        q_(q),
        n_(d.slot(q.source).elements),
        when_(q.kept ? When::first_micro_batch : When::always) {}

  QuantizedOperand make() {
    QuantizedOperand made{.amax = q_.known_amax};
    if (reads_twice(d_) && made.amax == kNone) made.amax = measure();
    const bool two = copies_layouts(d_) && q_.layouts == Layouts::both;
    const bool rows = q_.layouts != Layouts::columns;
    const SlotId first =
        q_.into != kNone ? q_.into : narrow(rows ? "quantized" : "quantized_columns");
    OperandList outputs{first};
    SlotId second = first;
    if (two) outputs.push_back(second = narrow("quantized_columns"));
    (rows ? made.rows : made.columns) = first;
    if (q_.layouts == Layouts::both || (rows && !copies_layouts(d_))) made.columns = second;
    const std::int64_t scales = add_scales(made, outputs, two ? 2 : 1);
    const bool amax = add_amax(outputs);
    OperandList inputs{q_.source};
    if (made.amax != kNone) inputs.push_back(made.amax);
    const bool on_chip = q_.made_by == MadeBy::norm && norm_quantizes(d_);
    d_.kernel({.kernel = Kernel::quantize,
               .dims = {n_, two ? 2 : 1, scales, amax ? q_.groups : 0},
               .attr = kFused,
               .module = q_.module,
               .launches = launches(),
               .continues = on_chip,
               .when = when_},
              inputs, outputs);
    return made;
  }

 private:
  SlotId slot(std::string_view name, std::int64_t elements, Dtype type) {
    if (!q_.kept) return d_.tensor(name, elements, type);
    const SlotId id = d_.static_slot(name, elements, type, Category::weights);
    d_.slot(id).layer = d_.layer;
    return id;
  }
  SlotId narrow(std::string_view name) { return slot(name, n_, d_.plan().compute); }

  /// The largest magnitude: a pass over the tensor whose first stage a compiled producer takes over
  /// (pytorch/ao torchao/testing/training/roofline_utils.py: fuse_with_prev).
  SlotId measure() {
    const SlotId amax = slot("amax", q_.groups, Dtype::fp32);
    const bool fused = d_.plan().compile && q_.made_by != MadeBy::other;
    d_.kernel({.kernel = Kernel::amax,
               .dims = {n_, q_.groups},
               .attr = kFused,
               .module = q_.module,
               .launches = fused ? launches() : std::min(2 * launches(), kMostLaunches),
               .when = when_,
               .extra_bytes = fused ? -d_.slot(q_.source).bytes() : 0},
              {q_.source}, {amax});
    if (q_.row_shard && d_.comm("tp") != kNone)
      d_.collective(
          {.reduce = ReduceOp::max, .comm = d_.comm("tp"), .module = q_.module, .when = when_},
          amax, amax, q_.groups);
    return amax;
  }

  std::int64_t add_scales(QuantizedOperand& made, OperandList& outputs, int copies) {
    const Blocks blocks = blocks_of(d_, q_.role);
    if (blocks.elements == 0) return 0;
    const std::int64_t of_group = n_ / q_.groups;
    const std::int64_t n = q_.groups * ((of_group + blocks.elements - 1) / blocks.elements);
    const bool rows = q_.layouts != Layouts::columns;
    const SlotId first = slot("scales", n, blocks.scale);
    (rows ? made.row_scales : made.column_scales) = first;
    outputs.push_back(first);
    if (copies == 2) outputs.push_back(made.column_scales = slot("scales", n, blocks.scale));
    return n;
  }

  bool add_amax(OperandList& outputs) {
    if (d_.plan().scaling != ScalingRecipe::delayed || d_.recompute) return false;
    if (q_.role != OperandRole::gradient && d_.phase != Phase::forward) return false;
    CHECK(d_.amaxes.slot != kNone, "amaxes have a place in every pass");
    outputs.push_back(d_.view(d_.amaxes.slot, "amax", d_.amaxes.used, q_.groups));
    d_.amaxes.used += q_.groups;
    return true;
  }

  /// Where experts are quantised apart: each weight, and each expert's rows unless their scales are
  /// known before (TransformerEngine csrc/extensions/cast.cpp, multi_tensor_quantize_impl: one
  /// kernel for all is for delayed scaling alone).
  int launches() const {
    const bool together = d_.plan().scaling == ScalingRecipe::delayed && !q_.kept;
    if (!d_.rules().quantized.experts_apart || together) return 1;
    return static_cast<int>(std::min<std::int64_t>(q_.groups, kMostLaunches));
  }

  RoleDraft& d_;
  const QuantizeRequest& q_;
  std::int64_t n_;
  When when_;
};

}  // namespace

QuantizedOperand quantize(RoleDraft& d, const QuantizeRequest& request) {
  return Maker(d, request).make();
}

/// TransformerEngine's norms write delayed-scaled and mxfp8 outputs; under other recipes they write
/// 16 bits, which are then quantised (pytorch/module/_common.py and layernorm_linear.py).
bool norm_quantizes(const RoleDraft& d) {
  const ScalingRecipe r = d.plan().scaling;
  return d.rules().quantized.norm_quantizes &&
         (r == ScalingRecipe::delayed || r == ScalingRecipe::mxfp8);
}

bool copies_layouts(const RoleDraft& d) {
  return d.plan().transposed_operands;
}

bool scales_whole_tensors(const RoleDraft& d) {
  return d.plan().scaling == ScalingRecipe::delayed ||
         d.plan().scaling == ScalingRecipe::tensorwise;
}

SlotId other_layout(RoleDraft& d, SlotId rows, Module module) {
  if (!copies_layouts(d)) return rows;
  const std::int64_t n = d.slot(rows).elements;
  const SlotId columns = d.tensor("quantized_columns", n, d.slot(rows).dtype);
  d.kernel({.kernel = Kernel::copy, .dims = {n}, .module = module}, {rows}, {columns});
  return columns;
}

SlotId gathered_for_backward(const RoleDraft& d, const QuantizedOperand& shard) {
  return scales_whole_tensors(d) ? shard.rows : shard.columns;
}

/// Megatron-LM core/fp8_utils.py, get_fp8_align_size; core/fp4_utils.py, get_fp4_align_size.
std::int64_t aligned_rows(const RoleDraft& d) {
  switch (d.plan().scaling) {
    case ScalingRecipe::mxfp8:
      return 32;
    case ScalingRecipe::nvfp4:
      return 128;
    default:
      return 16;
  }
}

/// At most: of inputs and weights of four linear layers, and of two more for each expert.
void begin_amaxes(RoleDraft& d, std::string_view name, std::size_t layers) {
  d.amaxes = {};
  if (d.plan().scaling != ScalingRecipe::delayed || layers == 0) return;
  const std::int64_t held = d.model().moe ? d.model().moe->experts / d.plan().ep : 0;
  const std::int64_t most = static_cast<std::int64_t>(layers) * (8 + 4 * held);
  d.amaxes.slot = d.static_slot(name, most, Dtype::fp32, Category::scalars);
}

void reduce_amaxes(RoleDraft& d) {
  if (d.amaxes.slot == kNone) return;
  constexpr std::int64_t kHistory = 1024;  // passes, DelayedScaling.amax_history_len
  const SlotId amaxes = d.amaxes.slot;
  const std::int64_t n = d.slot(amaxes).elements = d.amaxes.used;
  if (d.comm("amax") != kNone)
    d.collective({.reduce = ReduceOp::max, .comm = d.comm("amax"), .module = Module::mlp}, amaxes,
                 amaxes, n);
  const SlotId scales = d.static_slot("fp8_scales", n, Dtype::fp32, Category::scalars);
  d.kernel({.kernel = Kernel::update_scales,
            .dims = {n},
            .attr = kFused,
            .module = Module::mlp,
            .extra_bytes = kHistory * d.slot(amaxes).bytes()},
           {amaxes}, {scales});
  d.amaxes = {};
}

}  // namespace windtunnel
