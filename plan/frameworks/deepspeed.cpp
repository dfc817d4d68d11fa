#include "plan/frameworks/framework.h"

namespace windtunnel {

// DeepSpeed's ZeRO without its pipeline engine. Sources: deepspeedai/DeepSpeed
// runtime/zero/config.py (reduce_bucket_size 5e8 elements), runtime/zero/stage_1_and_2.py
// (gradients are copied into the bucket as they come and reduced when it is full),
// runtime/zero/stage3.py and partitioned_param_coordinator.py (weights are gathered into the
// parameters, one prefetch bucket ahead).
FrameworkRules deepspeed_rules(const Scenario& s) {
  FrameworkRules r;
  r.name = "deepspeed";
  r.units = {.unshard = UnshardKind::in_place, .pads_each_parameter = true, .ends_in_root = false};
  r.fuse_wgrad_accumulation = false;
  r.buckets_on_first_stage_only = false;
  r.default_bucket = 500'000'000;
  r.bucket_per_dp = 0;
  r.clip_scales_gradients = true;
  r.fp32_grad_copy_in_step = true;
  r.adapters_per_projection = true;  // PEFT (tuners/lora/model.py) adapts each nn.Linear
  r.host_ops_per_parameter = 2;
  // runtime/zero/offload_config.py: offload_optimizer, its ratio under stage 3 alone;
  // stage_1_and_2.py, stage3.py: gradients are copied behind their reduction, DeepSpeedCPUAdam
  // updates. Since DeepSpeed 0.3.10 (January 2021);
  // offload_param with ZeRO-3 (0.3.13, March 2021).
  r.offload = {.optimizer = stack_since(s.stack, 2021, 1),
               .part_of_optimizer = false,
               .needs_sharded_states = true,
               .gradients_in_backward = true,
               .overlaps = true,
               .params = stack_since(s.stack, 2021, 3)};
  r.time_sigma = 0.10;
  // runtime/fp16/loss_scaler.py, runtime/constants.py: initial_scale_power, loss_scale_window.
  r.loss_scaling = {.initial_log2 = 16, .growth_interval = 1000, .hysteresis = 2};
  return r;
}

}  // namespace windtunnel
