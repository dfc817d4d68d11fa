#include "plan/frameworks/framework.h"

namespace windtunnel {

// Megatron-DeepSpeed (bigscience-workshop and microsoft forks of Megatron-LM v2.4, 2021-2023).
// Sources: megatron/mpu/layers.py (blocking all-reduce in backward), DeepSpeed runtime/pipe/p2p.py
// (send and receive on the default stream), runtime/bf16_optimizer.py (fp32 accumulation beside
// bf16 gradients), runtime/zero/stage_1_and_2.py (fp16 gradients reduced in 5e8-element buckets,
// fp32 copy of the shard).
FrameworkRules megatron_deepspeed_rules(const Scenario& s) {
  FrameworkRules r;
  r.name = "megatron-deepspeed";
  r.vocab_multiple = 128;
  r.tp_backward_overlap = false;
  r.p2p_sync_host = false;
  r.fuse_wgrad_accumulation = false;
  const bool bf16 = s.plan.precision.compute.value_or(Dtype::bf16) == Dtype::bf16;
  r.half_grads = bf16 ? HalfGrads::kept : HalfGrads::transient;
  r.fp32_grad_copy_in_step = true;
  r.default_bucket = 500'000'000;
  r.bucket_per_dp = 0;
  r.buckets_on_first_stage_only = false;
  // Counted in megatron/model/transformer.py of that time with unfused attention and activation
  // checkpointing: 62 dispatched operators (half of them views and transposes), 11 modules and 8
  // custom autograd functions; backward has a node for each operator and each of the 12 parameters.
  r.host_layer = {.eager_ops = 62, .module_calls = 19, .backward_nodes = 74, .backward_calls = 8};
  r.host_ops_per_parameter = 6;
  return r;
}

}  // namespace windtunnel
