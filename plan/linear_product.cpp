#include "plan/linear_product.h"

#include <algorithm>

namespace windtunnel {

namespace {

bool splits_gemm_gradient(const RoleDraft& d) {
  return !d.rules().fuse_wgrad_accumulation ||
         (d.plan().grads != Dtype::fp32 && d.rules().half_grads != HalfGrads::none);
}

struct ProductKernels {
  Kernel one, grouped;
};

/// The kernel of a layer's product and its dims, of `rows` rows over all groups.
KernelSpec product_of(const Linear& l, ProductKernels kernels, std::int64_t rows, int turns) {
  const std::int64_t groups = std::max<std::int64_t>(1, l.groups);
  return {.kernel = l.groups > 0 ? kernels.grouped : kernels.one,
          .dims = {rows / groups, l.out, l.in, l.groups, 0, turns > 1 ? turns : 0},
          .module = l.module};
}

/// The scales are read beside the operands and live as long.
void product(RoleDraft& d, KernelSpec spec, const ProductOperands& o, SlotId out) {
  for (const SlotId id : o.scales) spec.extra_bytes += d.slot(id).bytes();
  OperandList inputs{o.left, o.right};
  if (o.bias != kNone) inputs.push_back(o.bias);
  d.kernel(spec, inputs, {out});
  for (const SlotId id : o.scales) d.hold(id);
}

void draft_weight_gradient(RoleDraft& d, ChunkParameters& p, const DeferredWeightGrad& g) {
  const DraftScope scope(d, Phase::weight_grad, g.layer);
  const GradientTarget target = gradient_target(d, p, g.weight);
  const std::int64_t groups = std::max<std::int64_t>(1, g.groups);
  product(d,
          {.kernel = g.groups > 0 ? Kernel::grouped_wgrad : Kernel::gemm_wgrad,
           .dims = {d.slot(g.output_grad).elements / (groups * g.out), g.out, g.in, g.groups},
           .attr = static_cast<std::uint16_t>(target.accumulate ? kAccumulate : kAttrNone),
           .module = g.module},
          {.left = g.output_grad, .right = g.input, .scales = g.scales}, target.slot);
  finish_gradient(d, p, g.weight, target);
}

QuantizeRequest request_of(const Linear& l, SlotId source, OperandRole role) {
  return {.source = source,
          .role = role,
          .groups = std::max<std::int64_t>(1, l.groups),
          .module = l.module};
}

/// Weights that are whole in static memory are quantised by the first micro-batch where the stack
/// keeps them so; others at each use, for backward in backward.
bool keeps_quantized_weights(const RoleDraft& d) {
  return d.rules().quantized.keeps_weights && !d.plan().shards_weights();
}

const QuantizedOperand& forward_weight(RoleDraft& d, ChunkParameters& p, const Linear& l) {
  QuantizedOperand& w = p.quantized(l.weight);
  const bool kept = keeps_quantized_weights(d);
  if (kept && w.rows != kNone) return w;
  QuantizeRequest q = request_of(l, p.slots(l.weight).weight, OperandRole::weight);
  q.layouts = kept ? Layouts::both : Layouts::rows;
  q.kept = kept;
  return w = quantize(d, q);
}

}  // namespace

void add_scales(ProductOperands& operands, SlotId scales) {
  if (scales != kNone) operands.scales.push_back(scales);
}

ProductOperands forward_operands(RoleDraft& d, ChunkParameters& p, const Linear& l) {
  p.before_use(d, l.weight);
  ProductOperands o{.right = p.slots(l.weight).weight, .scales = {}};
  if (l.quantized) {
    const QuantizedOperand& w = forward_weight(d, p, l);
    o.right = w.rows;
    add_scales(o, w.row_scales);
  }
  if (l.has_bias) {
    p.before_use(d, l.bias);
    o.bias = p.slots(l.bias).weight;
  }
  return o;
}

ProductOperands input_gradient_operands(RoleDraft& d, ChunkParameters& p, const Linear& l,
                                        const QuantizedOperand& dc) {
  if (!l.quantized) return {.left = dc.rows, .right = p.slots(l.weight).weight, .scales = {}};
  QuantizedOperand& w = p.quantized(l.weight);
  if (!keeps_quantized_weights(d)) {
    QuantizeRequest q = request_of(l, p.slots(l.weight).weight, OperandRole::weight);
    q.layouts = Layouts::columns;
    q.known_amax = w.amax;
    const QuantizedOperand again = quantize(d, q);
    w.columns = again.columns;
    w.column_scales = again.column_scales;
  }
  ProductOperands o{.left = dc.rows, .right = w.columns, .scales = {}};
  add_scales(o, w.column_scales);
  add_scales(o, dc.row_scales);
  return o;
}

ProductOperands weight_gradient_operands(const QuantizedOperand& dc, const LinearInput& input,
                                         SlotId rows) {
  ProductOperands o{.left = dc.columns, .right = rows, .scales = {}};
  add_scales(o, dc.column_scales);
  add_scales(o, input.quantized.column_scales);
  return o;
}

void forward_product(RoleDraft& d, const Linear& l, const ProductOperands& o, SlotId out) {
  const std::int64_t rows = d.slot(o.left).elements / l.in;
  KernelSpec spec = product_of(l, {Kernel::gemm_fwd, Kernel::grouped_fwd}, rows, o.turns);
  if (l.groups == 0) spec.dims[1] = d.slot(o.right).elements / l.in;  // some output features
  if (o.bias != kNone) spec.attr = kHasBias;
  product(d, spec, o, out);
}

void input_gradient_product(RoleDraft& d, const Linear& l, const ProductOperands& o, SlotId out) {
  const std::int64_t rows = d.slot(o.left).elements / l.out;
  product(d, product_of(l, {Kernel::gemm_dgrad, Kernel::grouped_dgrad}, rows, o.turns), o, out);
}

void weight_gradient(RoleDraft& d, ChunkParameters& p, const Linear& l, const ProductOperands& o) {
  if (l.frozen) return;
  const DeferredWeightGrad gradient{.weight = l.weight,
                                    .in = l.in,
                                    .out = l.out,
                                    .groups = l.groups,
                                    .module = l.module,
                                    .output_grad = o.left,
                                    .input = o.right,
                                    .scales = o.scales,
                                    .layer = d.layer};
  if (p.deferred() != nullptr) {
    p.deferred()->push_back(gradient);
  } else {
    draft_weight_gradient(d, p, gradient);
  }
}

void bias_gradient(RoleDraft& d, ChunkParameters& p, const Linear& l, SlotId dc) {
  if (!l.has_bias || l.frozen) return;
  d.kernel({.kernel = Kernel::bias_bwd,
            .dims = {d.slot(dc).elements / l.out, l.out},
            .attr = p.gradient_attr(d, l.bias),
            .module = l.module},
           {dc}, {p.slots(l.bias).grad});
  p.gradient_drafted(d, l.bias);
}

SlotId input_gradient(RoleDraft& d, const Linear& l, const ProductOperands& o) {
  const std::int64_t rows = d.slot(o.left).elements / l.out;
  const SlotId da = d.tensor("dgrad", rows * l.in, d.plan().multiplied());
  input_gradient_product(d, l, o, da);
  return da;
}

SlotId part_input_gradient(RoleDraft& d, const Linear& l, const ProductOperands& o, int part) {
  const std::int64_t rows = d.slot(o.left).elements / l.out, width = l.out / l.parts;
  ProductOperands of_part = o;
  of_part.right = d.view(o.right, "weight_part", part * width * l.in, width * l.in);
  d.slot(of_part.right).param = kNone;
  const SlotId da = d.tensor("dgrad", rows * l.in, d.plan().multiplied());
  product(d,
          {.kernel = Kernel::gemm_dgrad,
           .dims = {rows, width, l.in, part * width, l.out},
           .module = l.module},
          of_part, da);
  return da;
}

void draft_deferred(RoleDraft& d, ChunkParameters& p,
                    const std::vector<DeferredWeightGrad>& deferred) {
  for (const DeferredWeightGrad& g : deferred) draft_weight_gradient(d, p, g);
}

GradientTarget gradient_target(RoleDraft& d, ChunkParameters& p, ParameterId id) {
  const ParameterSlots& s = p.slots(id);
  if (s.half_grad != kNone) return {.slot = s.half_grad, .accumulate = false};
  if (d.plan().shards_grads()) {
    return {.slot = s.grad, .accumulate = p.gradient_attr(d, id) != kOverwrite, .direct = true};
  }
  if (!splits_gemm_gradient(d)) return {.slot = s.grad, .accumulate = true};
  const Dtype half = d.plan().multiplied();
  return {.slot = d.tensor("weight_grad", d.slot(s.grad).elements, half, Category::grads),
          .accumulate = false};
}

void finish_gradient(RoleDraft& d, ChunkParameters& p, ParameterId id,
                     const GradientTarget& target) {
  if (!target.accumulate && !target.direct) {
    d.kernel({.kernel = Kernel::accumulate,
              .dims = {d.slot(target.slot).elements},
              .module = Module::optimizer},
             {target.slot}, {p.slots(id).grad});
  }
  p.gradient_drafted(d, id);
}

LinearInput row_input(RoleDraft& d, const Linear& l, SlotId x, MadeBy made_by) {
  if (!l.quantized) return {.shard = x, .full = x, .quantized = {}};
  QuantizeRequest q = request_of(l, x, OperandRole::input);
  q.made_by = made_by;
  LinearInput in{.quantized = quantize(d, q)};
  in.full = in.quantized.rows;
  return in;
}

SlotId local_forward(RoleDraft& d, ChunkParameters& p, const Linear& l, const LinearInput& a,
                     std::string_view name) {
  ProductOperands o = forward_operands(d, p, l);
  o.left = a.full;
  if (l.quantized) add_scales(o, a.quantized.row_scales);
  const Dtype act = l.quantized ? d.plan().multiplied() : d.slot(a.full).dtype;
  const SlotId c = d.tensor(name, d.slot(a.full).elements / l.in * l.out, act);
  forward_product(d, l, o, c);
  return c;
}

SlotId local_backward(RoleDraft& d, ChunkParameters& p, const Linear& l, const LocalBackward& in) {
  QuantizedOperand dc{.rows = in.output_grad, .columns = in.output_grad};
  if (l.quantized) {
    QuantizeRequest q = request_of(l, in.output_grad, OperandRole::gradient);
    q.made_by = in.grad_made_by;
    dc = quantize(d, q);
  }
  const SlotId da = input_gradient(d, l, input_gradient_operands(d, p, l, dc));
  weight_gradient(d, p, l, weight_gradient_operands(dc, in.input, in.input.for_weight(l)));
  return da;
}

}  // namespace windtunnel
