#include "plan/chunked_loss.h"

#include <algorithm>
#include <bit>

namespace windtunnel {

std::int64_t chunk_rows(std::int64_t rows, std::int64_t vocabulary, std::int64_t hidden) {
  const std::int64_t chunks = (vocabulary + hidden - 1) / hidden;
  const std::int64_t least = (rows + chunks - 1) / chunks;
  return std::min<std::int64_t>(
      rows, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least))));
}

void ChunkedLoss::forward(const Linear& head, const Input& in, SlotId loss) {
  const LayerSizes z(d_);
  params_.before_use(d_, head.weight);
  input_grad_ = d_.tensor("head_input_grad", z.rows * head.in, z.act);
  weight_grad_ = d_.tensor("head_weight_grad", head.out * head.in, z.act, Category::grads);
  d_.kernel({.kernel = Kernel::zero, .dims = {head.out * head.in}, .module = Module::head}, {},
            {weight_grad_});
  const std::int64_t step = chunk_rows(z.rows, head.out * d_.plan().tp, head.in);
  for (std::int64_t row = 0; row < z.rows; row += step) {
    const std::int64_t rows = std::min(step, z.rows - row);
    const auto part = [&](SlotId whole, std::string_view name, std::int64_t width) {
      return rows == z.rows ? whole : d_.view(whole, name, row * width, rows * width);
    };
    draft_chunk(head,
                {.input = part(in.norm, "head_input_chunk", head.in),
                 .labels = part(in.labels, "labels_chunk", 1),
                 .input_grad = part(input_grad_, "head_input_grad_chunk", head.in),
                 .rows = rows,
                 .divisor = in.divisor},
                loss);
  }
}

void ChunkedLoss::draft_chunk(const Linear& head, const Chunk& c, SlotId loss) {
  const LayerSizes z(d_);
  const std::uint32_t tp = d_.comm("tp");
  const SlotId weight = params_.slots(head.weight).weight;
  const auto value = [&](std::string_view name) {
    return d_.tensor(name, c.rows, Dtype::fp32, Category::logits);
  };
  const auto reduce = [&](SlotId x, ReduceOp op) {
    if (tp == kNone) return;
    d_.collective({.reduce = op, .comm = tp, .module = Module::loss}, x, x, c.rows);
  };
  const SlotId logits = d_.tensor("logits_chunk", c.rows * head.out, z.act, Category::logits);
  d_.kernel(
      {.kernel = Kernel::gemm_fwd, .dims = {c.rows, head.out, head.in}, .module = Module::head},
      {c.input, weight}, {logits});
  const SlotId max = value("max"), target = value("target"), sum = value("sum");
  d_.kernel({.kernel = Kernel::ce_max, .dims = {c.rows, head.out, 0, 1}, .module = Module::loss},
            {logits}, {max});
  reduce(max, ReduceOp::max);
  d_.kernel({.kernel = Kernel::ce_sums,
             .dims = {c.rows, head.out, 0, 1},
             .module = Module::loss,
             .continues = tp == kNone},
            {logits, c.labels, max}, {target, sum});
  reduce(target, ReduceOp::sum);
  reduce(sum, ReduceOp::sum);
  d_.kernel({.kernel = Kernel::ce_loss, .dims = {c.rows, c.divisor}, .module = Module::loss},
            {target, sum}, {loss});
  OperandList of_gradient{logits, c.labels, max, sum};
  if (d_.loss_scale != kNone) of_gradient.push_back(d_.loss_scale);
  d_.kernel(
      {.kernel = Kernel::ce_grad, .dims = {c.rows, head.out, c.divisor, 1}, .module = Module::loss},
      of_gradient, {logits});
  d_.kernel(
      {.kernel = Kernel::gemm_dgrad, .dims = {c.rows, head.out, head.in}, .module = Module::head},
      {logits, weight}, {c.input_grad});
  d_.kernel({.kernel = Kernel::gemm_wgrad,
             .dims = {c.rows, head.out, head.in},
             .attr = kAccumulate,
             .module = Module::head},
            {logits, c.input}, {weight_grad_});
}

SlotId ChunkedLoss::backward(const Linear& head) {
  const LayerSizes z(d_);
  const GradientTarget target = gradient_target(d_, params_, head.weight);
  const bool overwrites = target.slot != kNone && !target.accumulate &&
                          (target.direct || params_.slots(head.weight).half_grad != kNone);
  const SlotId into = overwrites ? target.slot : params_.slots(head.weight).grad;
  d_.kernel({.kernel = overwrites ? Kernel::cast : Kernel::accumulate,
             .dims = {head.out * head.in},
             .module = Module::head},
            {weight_grad_}, {into});
  finish_gradient(d_, params_, head.weight,
                  {.slot = into, .accumulate = !overwrites, .direct = overwrites && target.direct});
  return reduce_rows(d_, z, input_grad_, head.in);
}

}  // namespace windtunnel
