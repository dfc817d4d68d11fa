#include "plan/parallel_linear.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace windtunnel {

namespace {

bool splits_gemm_gradient(const RoleDraft& d) {
  return !d.rules().fuse_wgrad_accumulation ||
         (d.plan().grads != Dtype::fp32 && d.rules().half_grads != HalfGrads::none);
}

void draft_weight_gradient(RoleDraft& d, ChunkParameters& p, const DeferredWeightGrad& g) {
  const Phase phase = std::exchange(d.phase, Phase::weight_grad);
  const std::int16_t layer = std::exchange(d.layer, g.layer);
  const GradientTarget target = gradient_target(d, p, g.weight);
  const std::int64_t groups = std::max<std::int64_t>(1, g.groups);
  const std::int64_t rows = d.slot(g.output_grad).elements / (groups * g.out);
  d.kernel({.kernel = g.groups > 0 ? Kernel::grouped_wgrad : Kernel::gemm_wgrad,
            .dims = {rows, g.out, g.in, g.groups},
            .attr = static_cast<std::uint16_t>(target.accumulate ? kAccumulate : kAttrNone),
            .module = g.module},
           {g.output_grad, g.input}, {target.slot});
  finish_gradient(d, p, g.weight, target);
  d.phase = phase;
  d.layer = layer;
}

void weight_gradient(RoleDraft& d, ChunkParameters& p, const Linear& l, SlotId dc, SlotId a) {
  put_weight_gradient(d, p,
                      {.weight = l.weight,
                       .in = l.in,
                       .out = l.out,
                       .module = l.module,
                       .output_grad = dc,
                       .input = a,
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

SlotId input_gradient(RoleDraft& d, ChunkParameters& p, const Linear& l, SlotId dc, Dtype act) {
  const std::int64_t rows = d.slot(dc).elements / l.out;
  const SlotId da = d.tensor("dgrad", rows * l.in, act);
  d.kernel({.kernel = Kernel::gemm_dgrad, .dims = {rows, l.out, l.in}, .module = l.module},
           {dc, p.slots(l.weight).weight}, {da});
  return da;
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
  const Dtype half = d.plan().compute == Dtype::tf32 ? Dtype::fp32 : d.plan().compute;
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

namespace {

/// A transfer on the tp stream beside compute: starts behind what compute has been given so far.
class BesideCompute {
 public:
  BesideCompute(RoleDraft& d, std::string_view done) : d_(d), done_(d.event(done, true)) {
    const std::uint32_t ready = d_.event("tp_ready", true);
    d_.record(ready, Stream::compute);
    d_.wait(ready, Stream::tp);
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
SlotId separate_input_gradients(RoleDraft& d, ChunkParameters& p, const LayerSizes& z,
                                const Linear& l, SlotId dc) {
  const std::int64_t width = l.out / l.parts;
  SlotId sum = kNone;
  for (int part = 0; part < l.parts; ++part) {
    const SlotId weight =
        d.view(p.slots(l.weight).weight, "weight_part", part * width * l.in, width * l.in);
    d.slot(weight).param = kNone;
    const SlotId da = d.tensor("dgrad", z.rows * l.in, z.act);
    d.kernel({.kernel = Kernel::gemm_dgrad,
              .dims = {z.rows, width, l.in, part * width, l.out},
              .module = l.module},
             {dc, weight}, {da});
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
  SlotId full = in.gathered != kNone ? in.gathered : in.input;
  std::optional<BesideCompute> gather;
  if (sp && in.gathered == kNone) {
    full = d.tensor("gathered", z.rows * l.in, d.slot(in.input).dtype);
    if (beside_compute(d)) gather.emplace(d, "gathered_again");
    d.collective({.collective = Collective::all_gather,
                  .reduce = ReduceOp::none,
                  .comm = d.comm("tp"),
                  .stream = reduction_stream(d),
                  .module = l.module},
                 in.input, full, z.rows * l.in);
    if (gather) gather->finish();
  }
  const SlotId da = separate ? separate_input_gradients(d, p, z, l, in.output_grad)
                             : input_gradient(d, p, l, in.output_grad, z.act);
  if (gather) gather->await({in.input, full});
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
  weight_gradient(d, p, l, in.output_grad, full);
  bias_gradient(d, p, l, in.output_grad);
  if (reduction) reduction->await({da, result});
  return result;
}

SlotId row_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z, const Linear& l,
                    const RowBackward& in) {
  const SlotId da = input_gradient(d, p, l, in.output_grad, z.act);
  weight_gradient(d, p, l, in.output_grad, in.input);
  return da;
}

}  // namespace windtunnel
