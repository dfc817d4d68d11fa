#include "plan/frameworks/framework.h"

namespace windtunnel {

// The stack of Hagemann et al. 2023 (2311.05610, "Efficient Parallelization Layouts for Large-Scale
// Distributed Model Training"): Megatron-style tensor parallel in PyTorch with a ZeRO-1 optimizer.
// No fp32 gradients are kept (half-precision gradients, fp32 copy of the shard in the step).
FrameworkRules aleph_alpha_rules(const Scenario&) {
  FrameworkRules r;
  r.name = "aleph-alpha";
  r.vocab_multiple = 0;
  r.tp_backward_overlap = false;
  r.fuse_wgrad_accumulation = false;
  r.half_grads = HalfGrads::transient;
  r.fp32_grad_copy_in_step = true;
  r.default_bucket = 500'000'000;
  r.bucket_per_dp = 0;
  r.buckets_on_first_stage_only = false;
  r.logits_gathered = true;
  return r;
}

}  // namespace windtunnel
