#include "plan/parallel_linear.h"

namespace windtunnel {

namespace {

bool splits_gemm_gradient(const RoleDraft& d) {
  return !d.rules().fuse_wgrad_accumulation ||
         (d.plan().grads != Dtype::fp32 && d.rules().half_grads != HalfGrads::none);
}

void weight_gradient(RoleDraft& d, ChunkParameters& p, const Linear& l, SlotId dc, SlotId a) {
  const GradientTarget target = gradient_target(d, p, l.weight);
  const std::int64_t rows = d.slot(dc).elements / l.out;
  d.kernel({.kernel = Kernel::gemm_wgrad,
            .dims = {rows, l.out, l.in},
            .attr = static_cast<std::uint16_t>(target.accumulate ? kAccumulate : kAttrNone),
            .module = l.module},
           {dc, a}, {target.slot});
  finish_gradient(d, p, l.weight, target);
}

void bias_gradient(RoleDraft& d, ChunkParameters& p, const Linear& l, SlotId dc) {
  if (!l.has_bias) return;
  d.kernel({.kernel = Kernel::bias_bwd,
            .dims = {d.slot(dc).elements / l.out, l.out},
            .module = l.module},
           {dc}, {p.slots(l.bias).grad});
  p.gradient_drafted(d, l.bias);
}

SlotId input_gradient(RoleDraft& d, ChunkParameters& p, const Linear& l, SlotId dc, Dtype act) {
  const std::int64_t rows = d.slot(dc).elements / l.out;
  const SlotId da = d.tensor("dgrad", rows * l.in, act);
  d.kernel({.kernel = Kernel::gemm_dgrad, .dims = {rows, l.out, l.in}, .module = l.module},
           {dc, p.slots(l.weight).weight}, {da});
  return da;
}

}  // namespace

GradientTarget gradient_target(RoleDraft& d, ChunkParameters& p, ParameterId id) {
  const ParameterSlots& s = p.slots(id);
  if (s.half_grad != kNone) return {.slot = s.half_grad, .accumulate = false};
  if (!splits_gemm_gradient(d)) return {.slot = s.grad, .accumulate = true};
  const Dtype half = d.plan().compute == Dtype::tf32 ? Dtype::fp32 : d.plan().compute;
  return {.slot = d.tensor("weight_grad", d.slot(s.grad).elements, half, Category::grads),
          .accumulate = false};
}

void finish_gradient(RoleDraft& d, ChunkParameters& p, ParameterId id,
                     const GradientTarget& target) {
  if (!target.accumulate) {
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

SlotId linear_forward(RoleDraft& d, ChunkParameters& p, const Linear& l, SlotId a,
                      std::string_view name) {
  p.before_use(d, l.weight);
  const std::int64_t rows = d.slot(a).elements / l.in;
  const SlotId c = d.tensor(name, rows * l.out, d.slot(a).dtype);
  OperandList in{a, p.slots(l.weight).weight};
  std::uint16_t attr = kAttrNone;
  if (l.has_bias) {
    p.before_use(d, l.bias);
    in.push_back(p.slots(l.bias).weight);
    attr = kHasBias;
  }
  d.kernel(
      {.kernel = Kernel::gemm_fwd, .dims = {rows, l.out, l.in}, .attr = attr, .module = l.module},
      in, {c});
  return c;
}

SlotId column_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z, const Linear& l,
                       const ColumnBackward& in) {
  const std::uint32_t tp = d.comm("tp");
  const bool sp = d.plan().sequence_parallel;
  const bool overlap = tp != kNone && d.rules().tp_backward_overlap;
  const Stream stream = overlap ? Stream::tp : Stream::compute;
  SlotId full = in.gathered != kNone ? in.gathered : in.input;
  std::uint32_t gathered = kNone;
  if (sp && in.gathered == kNone) {
    full = d.tensor("gathered", z.rows * l.in, d.slot(in.input).dtype);
    if (overlap) {
      const std::uint32_t ready = d.event("gather_ready", true);
      gathered = d.event("gather_done", true);
      d.record(ready, Stream::compute);
      d.wait(ready, Stream::tp);
    }
    d.collective({.collective = Collective::all_gather,
                  .reduce = ReduceOp::none,
                  .comm = tp,
                  .stream = stream,
                  .module = l.module},
                 in.input, full, z.rows * l.in);
    if (overlap) d.record(gathered, Stream::tp);
  }
  const SlotId da = input_gradient(d, p, l, in.output_grad, z.act);
  if (gathered != kNone) d.wait(gathered, Stream::compute, {in.input, full});
  SlotId result = da;
  std::uint32_t reduced = kNone;
  if (tp != kNone) {
    if (overlap) {
      const std::uint32_t ready = d.event("dgrad_ready", true);
      reduced = d.event("dgrad_reduced", true);
      d.record(ready, Stream::compute);
      d.wait(ready, Stream::tp);
    }
    if (sp) result = d.tensor("dgrad_part", z.norm_rows * l.in, z.act);
    d.collective({.collective = sp ? Collective::reduce_scatter : Collective::all_reduce,
                  .comm = tp,
                  .stream = stream,
                  .module = l.module},
                 da, result, z.rows * l.in);
    if (overlap) d.record(reduced, Stream::tp);
  }
  weight_gradient(d, p, l, in.output_grad, full);
  bias_gradient(d, p, l, in.output_grad);
  if (reduced != kNone) d.wait(reduced, Stream::compute, {da, result});
  return result;
}

SlotId row_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z, const Linear& l,
                    SlotId dc, SlotId input) {
  const SlotId da = input_gradient(d, p, l, dc, z.act);
  weight_gradient(d, p, l, dc, input);
  return da;
}

}  // namespace windtunnel
