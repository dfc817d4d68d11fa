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
  return r;
}

}  // namespace windtunnel
