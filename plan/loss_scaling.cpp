#include "plan/loss_scaling.h"

namespace windtunnel {

void make_loss_scale(RoleDraft& d) {
  if (!d.plan().loss_scaling) return;
  constexpr std::int64_t kState = 4;  // kernels/reference/loss_scale.h
  d.loss_scale = d.static_slot("loss_scale", kState, Dtype::fp32, Category::scalars);
  d.found_inf = d.static_slot("found_inf", 1, Dtype::fp32, Category::scalars);
}

void draft_scale_begin(RoleDraft& d) {
  if (d.loss_scale == kNone) return;
  const LossScaling& rule = d.rules().loss_scaling;
  d.kernel({.kernel = Kernel::start_loss_scale,
            .dims = {rule.initial_log2, rule.hysteresis},
            .module = Module::optimizer,
            .when = When::first_step},
           {}, {d.loss_scale});
  d.kernel({.kernel = Kernel::zero, .dims = {1}, .module = Module::optimizer}, {}, {d.found_inf});
}

void draft_unscale(RoleDraft& d, const std::vector<SlotId>& grads, std::uint32_t comm) {
  if (d.loss_scale == kNone) return;
  for (const SlotId grad : grads) {
    d.kernel({.kernel = Kernel::unscale,
              .dims = {d.slot(grad).elements},
              .attr = kFused,
              .module = Module::optimizer},
             {grad, d.loss_scale}, {grad, d.found_inf});
  }
  if (comm != kNone)
    d.collective({.reduce = ReduceOp::max, .comm = comm, .module = Module::optimizer}, d.found_inf,
                 d.found_inf, 1);
  d.wait_on_host("found_inf");
}

void add_overflow_guard(const RoleDraft& d, OperandList& inputs) {
  if (d.loss_scale == kNone) return;
  inputs.push_back(d.found_inf);
  inputs.push_back(d.loss_scale);
}

void draft_scale_update(RoleDraft& d) {
  if (d.loss_scale == kNone) return;
  const LossScaling& rule = d.rules().loss_scaling;
  d.kernel({.kernel = Kernel::update_loss_scale,
            .dims = {rule.growth_interval, rule.hysteresis},
            .module = Module::optimizer},
           {d.found_inf}, {d.loss_scale});
}

// torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, _get_gradient_divide_factors @010ae4a8:
// the power of two next above the root of the ranks first.
DivideFactors divide_factors(int ranks) {
  int before = 1;
  while (ranks % before == 0 && ranks / before > before) before *= 2;
  return {.before = before, .after = ranks / before};
}

}  // namespace windtunnel
