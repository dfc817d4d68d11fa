#include "plan/parallel_linear.h"

#include <algorithm>
#include <optional>

namespace windtunnel {

namespace {

bool splits_gemm_gradient(const RoleDraft& d) {
  return !d.rules().fuse_wgrad_accumulation ||
         (d.plan().grads != Dtype::fp32 && d.rules().half_grads != HalfGrads::none);
}

/// One product: its operands in the layouts it reads, and the scales of their blocks.
struct ProductOperands {
  SlotId left = kNone, right = kNone;
  OperandList scales;
};

void add_scales(ProductOperands& p, SlotId scales) {
  if (scales != kNone) p.scales.push_back(scales);
}

/// The scales are read beside the operands and live as long.
void product(RoleDraft& d, KernelSpec spec, const OperandList& inputs, const OperandList& scales,
             SlotId out) {
  for (const SlotId id : scales) spec.extra_bytes += d.slot(id).bytes();
  d.kernel(spec, inputs, {out});
  for (const SlotId id : scales) d.hold(id);
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
          {g.output_grad, g.input}, g.scales, target.slot);
  finish_gradient(d, p, g.weight, target);
}

void weight_gradient(RoleDraft& d, ChunkParameters& p, const Linear& l, const ProductOperands& o) {
  put_weight_gradient(d, p,
                      {.weight = l.weight,
                       .in = l.in,
                       .out = l.out,
                       .module = l.module,
                       .output_grad = o.left,
                       .input = o.right,
                       .scales = o.scales,
                       .layer = d.layer});
}

void bias_gradient(RoleDraft& d, ChunkParameters& p, const Linear& l, SlotId dc) {
  if (!l.has_bias) return;
  d.kernel({.kernel = Kernel::bias_bwd,
            .dims = {d.slot(dc).elements / l.out, l.out},
            .attr = p.gradient_attr(d, l.bias),
            .module = l.module},
           {dc}, {p.slots(l.bias).grad});
  p.gradient_drafted(d, l.bias);
}

SlotId input_gradient(RoleDraft& d, const Linear& l, const ProductOperands& o, Dtype act) {
  const std::int64_t rows = d.slot(o.left).elements / l.out;
  const SlotId da = d.tensor("dgrad", rows * l.in, act);
  product(d, {.kernel = Kernel::gemm_dgrad, .dims = {rows, l.out, l.in}, .module = l.module},
          {o.left, o.right}, o.scales, da);
  return da;
}

/// Weights that are whole in static memory are quantised by the first micro-batch where the stack
/// keeps them so; others at each use, for backward in backward.
const QuantizedOperand& forward_weight(RoleDraft& d, ChunkParameters& p, const Linear& l) {
  QuantizedOperand& w = p.quantized(l.weight);
  const bool kept = d.rules().quantized.keeps_weights && !d.plan().shards_weights();
  if (kept && w.rows != kNone) return w;
  return w = quantize(d, {.source = p.slots(l.weight).weight,
                          .role = OperandRole::weight,
                          .layouts = kept ? Layouts::both : Layouts::rows,
                          .kept = kept,
                          .module = l.module});
}

ProductOperands with_weight(RoleDraft& d, ChunkParameters& p, const Linear& l, SlotId dc) {
  if (!l.quantized) return {.left = dc, .right = p.slots(l.weight).weight, .scales = {}};
  QuantizedOperand& w = p.quantized(l.weight);
  if (!d.rules().quantized.keeps_weights || d.plan().shards_weights()) {
    const QuantizedOperand again = quantize(d, {.source = p.slots(l.weight).weight,
                                                .role = OperandRole::weight,
                                                .layouts = Layouts::columns,
                                                .known_amax = w.amax,
                                                .module = l.module});
    w.columns = again.columns;
    w.column_scales = again.column_scales;
  }
  ProductOperands o{.left = dc, .right = w.columns, .scales = {}};
  add_scales(o, w.column_scales);
  return o;
}

}  // namespace

void put_weight_gradient(RoleDraft& d, ChunkParameters& p, const DeferredWeightGrad& gradient) {
  if (p.deferred() != nullptr) {
    p.deferred()->push_back(gradient);
  } else {
    draft_weight_gradient(d, p, gradient);
  }
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

SlotId gather_rows(RoleDraft& d, const LayerSizes& z, SlotId x, std::int64_t width) {
  if (!d.plan().sequence_parallel) return x;
  const SlotId full = d.tensor("gathered", z.rows * width, d.slot(x).dtype);
  d.collective(
      {.collective = Collective::all_gather, .reduce = ReduceOp::none, .comm = d.comm("tp")}, x,
      full, z.rows * width);
  return full;
}

SlotId reduce_rows(RoleDraft& d, const LayerSizes& z, SlotId x, std::int64_t width) {
  if (d.plan().tp == 1) return x;
  if (!d.plan().sequence_parallel) {
    d.collective({.comm = d.comm("tp")}, x, x, z.rows * width);
    return x;
  }
  const SlotId part = d.tensor("scattered", z.norm_rows * width, d.slot(x).dtype);
  d.collective({.collective = Collective::reduce_scatter, .comm = d.comm("tp")}, x, part,
               z.rows * width);
  return part;
}

LinearInput kept_input(RoleDraft& d, const Linear& l, SlotId x, MadeBy made_by) {
  if (!l.quantized) return {.shard = x, .full = kNone, .quantized = {}};
  const bool sp = d.plan().sequence_parallel;
  return {.quantized =
              quantize(d, {.source = x,
                           .layouts = sp && scales_whole_tensors(d) ? Layouts::rows : Layouts::both,
                           .made_by = made_by,
                           .row_shard = sp,
                           .module = l.module})};
}

LinearInput column_input(RoleDraft& d, const LayerSizes& z, const Linear& l, SlotId x,
                         MadeBy made_by) {
  LinearInput in = kept_input(d, l, x, made_by);
  in.full = gather_rows(d, z, l.quantized ? in.quantized.rows : x, l.in);
  return in;
}

namespace {

LinearInput whole_input(RoleDraft& d, const Linear& l, SlotId x, MadeBy made_by, bool row_shard) {
  if (!l.quantized) return {.shard = x, .full = x, .quantized = {}};
  LinearInput in{
      .quantized = quantize(
          d, {.source = x, .made_by = made_by, .row_shard = row_shard, .module = l.module})};
  in.full = in.quantized.rows;
  return in;
}

}  // namespace

LinearInput row_input(RoleDraft& d, const Linear& l, SlotId x, MadeBy made_by) {
  return whole_input(d, l, x, made_by, false);
}

LinearInput replicated_input(RoleDraft& d, const Linear& l, SlotId x) {
  return whole_input(d, l, x, MadeBy::other, d.plan().sequence_parallel);
}

SlotId linear_forward(RoleDraft& d, ChunkParameters& p, const Linear& l, const LinearInput& a,
                      std::string_view name) {
  p.before_use(d, l.weight);
  const std::int64_t rows = d.slot(a.full).elements / l.in;
  ProductOperands o{.left = a.full, .right = p.slots(l.weight).weight, .scales = {}};
  if (l.quantized) {
    const QuantizedOperand& w = forward_weight(d, p, l);
    o.right = w.rows;
    add_scales(o, a.quantized.row_scales);
    add_scales(o, w.row_scales);
  }
  const Dtype act = l.quantized ? d.plan().multiplied() : d.slot(a.full).dtype;
  const SlotId c = d.tensor(name, rows * l.out, act);
  OperandList in{o.left, o.right};
  std::uint16_t attr = kAttrNone;
  if (l.has_bias) {
    p.before_use(d, l.bias);
    in.push_back(p.slots(l.bias).weight);
    attr = kHasBias;
  }
  product(
      d,
      {.kernel = Kernel::gemm_fwd, .dims = {rows, l.out, l.in}, .attr = attr, .module = l.module},
      in, o.scales, c);
  return c;
}

namespace {

/// A transfer on the tp stream beside compute: starts behind what compute has been given so far.
class BesideCompute {
 public:
  BesideCompute(RoleDraft& d, std::string_view done) : d_(d), done_(d.event(done, true)) {
    d_.order({.to = Stream::tp, .event = "tp_ready", .per_frame = true});
  }
  void finish() { d_.record(done_, Stream::tp); }
  void await(const OperandList& holds) { d_.wait(done_, Stream::compute, holds); }

 private:
  RoleDraft& d_;
  std::uint32_t done_;
};

bool beside_compute(const RoleDraft& d) {
  return d.comm("tp") != kNone && d.rules().tp_backward_overlap;
}

Stream reduction_stream(const RoleDraft& d) {
  return beside_compute(d) ? Stream::tp : Stream::compute;
}

/// Gradients of side-by-side layers, each reduced on its own and then added.
SlotId separate_input_gradients(RoleDraft& d, const LayerSizes& z, const Linear& l,
                                const ProductOperands& o) {
  const std::int64_t width = l.out / l.parts;
  SlotId sum = kNone;
  for (int part = 0; part < l.parts; ++part) {
    const SlotId weight = d.view(o.right, "weight_part", part * width * l.in, width * l.in);
    d.slot(weight).param = kNone;
    const SlotId da = d.tensor("dgrad", z.rows * l.in, z.act);
    product(d,
            {.kernel = Kernel::gemm_dgrad,
             .dims = {z.rows, width, l.in, part * width, l.out},
             .module = l.module},
            {o.left, weight}, o.scales, da);
    d.collective({.comm = d.comm("tp"), .module = l.module}, da, da, z.rows * l.in);
    if (sum != kNone)
      d.kernel({.kernel = Kernel::add, .dims = {z.rows * l.in}, .module = l.module}, {da, sum},
               {da});
    sum = da;
  }
  return sum;
}

}  // namespace

SlotId column_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z, const Linear& l,
                       const ColumnBackward& in) {
  const bool sp = d.plan().sequence_parallel;
  const bool separate = l.parts > 1 && !sp && d.comm("tp") != kNone;
  QuantizedOperand dc{.rows = in.output_grad, .columns = in.output_grad};
  if (l.quantized)
    dc = quantize(d, {.source = in.output_grad,
                      .role = OperandRole::gradient,
                      .made_by = in.grad_made_by,
                      .module = l.module});
  const SlotId shard = !l.quantized ? in.input.shard
                       : sp         ? gathered_for_backward(d, in.input.quantized)
                                    : in.input.quantized.columns;
  const bool gathers = sp && (l.quantized || !d.rules().keep_gathered_input);
  SlotId full = sp && !gathers ? in.input.full : shard;
  std::optional<BesideCompute> gather;
  if (gathers) {
    full = d.tensor("gathered", z.rows * l.in, d.slot(shard).dtype);
    if (beside_compute(d)) gather.emplace(d, "gathered_again");
    d.collective({.collective = Collective::all_gather,
                  .reduce = ReduceOp::none,
                  .comm = d.comm("tp"),
                  .stream = reduction_stream(d),
                  .module = l.module},
                 shard, full, z.rows * l.in);
    if (gather) gather->finish();
  }
  ProductOperands of_input = with_weight(d, p, l, dc.rows);
  add_scales(of_input, dc.row_scales);
  const SlotId da = separate ? separate_input_gradients(d, z, l, of_input)
                             : input_gradient(d, l, of_input, z.act);
  if (gather) gather->await({shard, full});
  // A reduction beside the weight gradient is issued before it; one that blocks stands behind both
  // products of the layer's backward.
  const auto parameter_gradients = [&] {
    if (l.quantized && gathers && scales_whole_tensors(d)) full = other_layout(d, full, l.module);
    ProductOperands of_weight{.left = dc.columns, .right = full, .scales = {}};
    add_scales(of_weight, dc.column_scales);
    if (l.quantized) add_scales(of_weight, in.input.quantized.column_scales);
    weight_gradient(d, p, l, of_weight);
    bias_gradient(d, p, l, in.output_grad);
  };
  if (!beside_compute(d)) parameter_gradients();
  SlotId result = da;
  std::optional<BesideCompute> reduction;
  if (d.comm("tp") != kNone && !separate) {
    if (beside_compute(d)) reduction.emplace(d, "dgrad_reduced");
    if (sp) result = d.tensor("dgrad_part", z.norm_rows * l.in, z.act);
    d.collective({.collective = sp ? Collective::reduce_scatter : Collective::all_reduce,
                  .comm = d.comm("tp"),
                  .stream = reduction_stream(d),
                  .module = l.module},
                 da, result, z.rows * l.in);
    if (reduction) reduction->finish();
  }
  if (beside_compute(d)) parameter_gradients();
  if (reduction) reduction->await({da, result});
  return result;
}

namespace {

/// (Ts, N) -> (T, N), quantised before it is gathered.
QuantizedOperand gathered_gradient(RoleDraft& d, const LayerSizes& z, const Linear& l, SlotId dc) {
  const bool sp = d.plan().sequence_parallel;
  if (!l.quantized) {
    const SlotId full = gather_rows(d, z, dc, l.out);
    return {.rows = full, .columns = full};
  }
  const bool copies_later = sp && scales_whole_tensors(d);
  QuantizedOperand g = quantize(d, {.source = dc,
                                    .role = OperandRole::gradient,
                                    .layouts = copies_later ? Layouts::rows : Layouts::both,
                                    .made_by = MadeBy::elementwise,
                                    .row_shard = sp,
                                    .module = l.module});
  if (!sp) return g;
  const SlotId columns = g.columns;
  g.rows = gather_rows(d, z, g.rows, l.out);
  g.columns = copies_later ? other_layout(d, g.rows, l.module) : gather_rows(d, z, columns, l.out);
  return g;
}

}  // namespace

namespace {

/// Both products of backward, of an input that forward multiplied as it was given.
SlotId both_gradients(RoleDraft& d, ChunkParameters& p, const LayerSizes& z, const Linear& l,
                      const QuantizedOperand& dc, const LinearInput& input) {
  ProductOperands of_input = with_weight(d, p, l, dc.rows);
  add_scales(of_input, dc.row_scales);
  const SlotId da = input_gradient(d, l, of_input, z.act);
  ProductOperands of_weight{.left = dc.columns,
                            .right = l.quantized ? input.quantized.columns : input.shard,
                            .scales = {}};
  add_scales(of_weight, dc.column_scales);
  if (l.quantized) add_scales(of_weight, input.quantized.column_scales);
  weight_gradient(d, p, l, of_weight);
  return da;
}

}  // namespace

SlotId row_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z, const Linear& l,
                    const RowBackward& in) {
  return both_gradients(d, p, z, l, gathered_gradient(d, z, l, in.output_grad), in.input);
}

SlotId replicated_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z, const Linear& l,
                           const ReplicatedBackward& in) {
  QuantizedOperand dc{.rows = in.output_grad, .columns = in.output_grad};
  if (l.quantized)
    dc = quantize(d, {.source = in.output_grad,
                      .role = OperandRole::gradient,
                      .row_shard = d.plan().sequence_parallel,
                      .module = l.module});
  return both_gradients(d, p, z, l, dc, in.input);
}

}  // namespace windtunnel
