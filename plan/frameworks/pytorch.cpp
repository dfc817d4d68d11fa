#include "plan/frameworks/framework.h"

namespace windtunnel {

namespace {

constexpr std::int64_t kMebi = 1 << 20;

/// torchtitan wraps the embedding, and the final norm with the head, as units of their own since
/// its pull request 1011 (March 2025, models/llama3/infra/parallelize.py); before, they lay in the
/// root and the last layer was not resharded after forward.
ShardedUnitRules fully_shard_rules(const Scenario& s) {
  const bool own_units = stack_since(s.stack, 2025, 4);
  return {.unshard = UnshardKind::copied_out,
          .pads_each_parameter = true,
          .ends_in_root = !own_units,
          .head_stays = own_units,
          .last_layer_stays = !own_units};
}

}  // namespace

// PyTorch. Sources: torch/nn/parallel/distributed.py and csrc/distributed/c10d/reducer.hpp (buckets
// of 25 MiB, the first of 1 MiB; accumulation into .grad is an operator of its own);
// torch/distributed/fsdp/_fully_shard (one gather and one reduction for each unit);
// torch/distributed/fsdp/_runtime_utils.py and _limiter_utils.py (FSDP1: the host waits before it
// gathers a third unit).
FrameworkRules pytorch_rules(const Scenario& s) {
  FrameworkRules r;
  r.name = "pytorch";
  r.units = s.plan.preset == Preset::fsdp1 ? ShardedUnitRules{.unshard = UnshardKind::host_limited}
                                           : fully_shard_rules(s);
  r.fuse_wgrad_accumulation = false;
  r.buckets_on_first_stage_only = false;
  const Dtype grads = s.plan.precision.grads.value_or(Dtype::fp32);
  r.first_bucket = kMebi * 8 / bits_of(grads);
  r.default_bucket = 25 * kMebi * 8 / bits_of(grads);
  r.bucket_per_dp = 0;
  r.host_ops_per_parameter = 2;
  // torchao casts at each use and writes both layouts (float8/float8_linear.py @024fe94f,
  // torchao/testing/training/roofline_utils.py @05980129).
  r.quantized = {.fp8_recipe = ScalingRecipe::tensorwise,
                 .keeps_weights = false,
                 .always_transposes = true,
                 .norm_quantizes = false};
  r.time_sigma = 0.08;
  return r;
}

}  // namespace windtunnel
