#include "plan/parallel_linear.h"

#include <optional>

#include "plan/overlapped_linear.h"

namespace windtunnel {

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

namespace {

/// Without the gather.
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

}  // namespace

LinearInput made_again(RoleDraft& d, const Linear& l, const LinearInput& before, SlotId x,
                       MadeBy made_by) {
  LinearInput in = kept_input(d, l, x, made_by);
  in.full = before.full;
  return in;
}

LinearInput column_input(RoleDraft& d, const LayerSizes& z, const Linear& l, SlotId x,
                         MadeBy made_by) {
  LinearInput in = kept_input(d, l, x, made_by);
  const SlotId rows = l.quantized ? in.quantized.rows : x;
  in.full = l.overlapped ? d.tensor("gathered", z.rows * l.in, d.slot(rows).dtype)
                         : gather_rows(d, z, rows, l.in);
  return in;
}

SlotId linear_forward(RoleDraft& d, ChunkParameters& p, const Linear& l, const LinearInput& a,
                      std::string_view name) {
  if (l.overlapped) return gathered_forward(d, p, l, a, name);
  return local_forward(d, p, l, a, name);
}

SlotId row_forward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z, const Linear& l,
                   const RowForward& in) {
  if (l.overlapped) return scattered_forward(d, p, l, in.input, in.name);
  return reduce_rows(d, z, local_forward(d, p, l, in.input, in.name), l.out);
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

/// Userbuffers gather the saved input beside the input gradient and scatter that beside the weight
/// gradient ("bulk"), as Megatron-LM does without them. Symmetric memory does not: what is
/// scattered is a sum of several products (torch/_inductor/fx_passes/micro_pipeline_tp.py fuses
/// one).
bool beside_compute(const RoleDraft& d, const Linear& l) {
  const bool bulk = l.overlapped && d.rules().tp_overlap == TpOverlap::userbuffers;
  return d.comm("tp") != kNone && (d.rules().tp_backward_overlap || bulk);
}

/// Gradients of side-by-side layers, each reduced on its own and then added.
SlotId separate_input_gradients(RoleDraft& d, const LayerSizes& z, const Linear& l,
                                const ProductOperands& o) {
  SlotId sum = kNone;
  for (int part = 0; part < l.parts; ++part) {
    const SlotId da = part_input_gradient(d, l, o, part);
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
  const bool beside = beside_compute(d, l);
  const Stream stream = beside ? Stream::tp : Stream::compute;
  QuantizedOperand dc{.rows = in.output_grad, .columns = in.output_grad};
  if (l.quantized)
    dc = quantize(d, {.source = in.output_grad,
                      .role = OperandRole::gradient,
                      .made_by = in.grad_made_by,
                      .module = l.module});
  const SlotId shard = !l.quantized ? in.input.shard
                       : sp         ? gathered_for_backward(d, in.input.quantized)
                                    : in.input.quantized.columns;
  const bool gathers = sp && !l.frozen && (l.quantized || !d.rules().keep_gathered_input);
  SlotId full = sp && !gathers ? in.input.full : shard;
  std::optional<BesideCompute> gather;
  if (gathers) {
    full = d.tensor("gathered", z.rows * l.in, d.slot(shard).dtype);
    if (beside) gather.emplace(d, "gathered_again");
    d.collective({.collective = Collective::all_gather,
                  .reduce = ReduceOp::none,
                  .comm = d.comm("tp"),
                  .stream = stream,
                  .module = l.module},
                 shard, full, z.rows * l.in);
    if (gather) gather->finish();
  }
  const ProductOperands of_input = input_gradient_operands(d, p, l, dc);
  const SlotId da =
      separate ? separate_input_gradients(d, z, l, of_input) : input_gradient(d, l, of_input);
  if (in.summand != kNone)
    d.kernel({.kernel = Kernel::add, .dims = {z.rows * l.in}, .module = l.module}, {da, in.summand},
             {da});
  if (gather) gather->await({shard, full});
  // A reduction beside the weight gradient is issued before it; one that blocks stands behind both
  // products of the layer's backward.
  const auto parameter_gradients = [&] {
    if (l.quantized && gathers && scales_whole_tensors(d)) full = other_layout(d, full, l.module);
    weight_gradient(d, p, l, weight_gradient_operands(dc, in.input, full));
    bias_gradient(d, p, l, in.output_grad);
  };
  if (!beside) parameter_gradients();
  SlotId result = da;
  std::optional<BesideCompute> reduction;
  if (d.comm("tp") != kNone && !separate) {
    if (beside) reduction.emplace(d, "dgrad_reduced");
    if (sp) result = d.tensor("dgrad_part", z.norm_rows * l.in, z.act);
    d.collective({.collective = sp ? Collective::reduce_scatter : Collective::all_reduce,
                  .comm = d.comm("tp"),
                  .stream = stream,
                  .module = l.module},
                 da, result, z.rows * l.in);
    if (reduction) reduction->finish();
  }
  if (beside) parameter_gradients();
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

GatheredBackward input_gradient_of_whole(RoleDraft& d, ChunkParameters& p, const LayerSizes& z,
                                         const Linear& l, SlotId dc) {
  GatheredBackward result{.output_grad = gathered_gradient(d, z, l, dc)};
  result.input_grad = input_gradient(d, l, input_gradient_operands(d, p, l, result.output_grad));
  return result;
}

}  // namespace

SlotId row_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z, const Linear& l,
                    const RowBackward& in) {
  const GatheredBackward g = l.overlapped ? gathered_backward(d, p, z, l, in.output_grad)
                                          : input_gradient_of_whole(d, p, z, l, in.output_grad);
  weight_gradient(d, p, l,
                  weight_gradient_operands(g.output_grad, in.input, in.input.for_weight(l)));
  return g.input_grad;
}

}  // namespace windtunnel
