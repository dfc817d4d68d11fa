#include "plan/frameworks/framework.h"

namespace windtunnel {

// Megatron-DeepSpeed (bigscience-workshop and microsoft forks of Megatron-LM v2.4, 2021-2023).
// Sources, in microsoft/DeepSpeed of that time where not said otherwise:
// - megatron/mpu/layers.py of the fork: the all-reduce of input gradients blocks.
// - runtime/pipe/{engine,schedule,p2p}.py: transfers one by one on the default stream, activations
//   before gradients; activations and gradients split over the model-parallel ranks
//   (is_pipe_partitioned).
// - utils/timer.py, ThroughputTimer.start: the host waits for the device; called at the beginning
//   of every forward (runtime/pipe/engine.py, _exec_forward_pass; runtime/engine.py, forward).
// - runtime/utils.py, PartitionedTensor: to_meta copies the shape of a part from pageable memory to
//   the device, which waits for it; from_meta reads it back. Read once and kept since
//   deepspeedai/DeepSpeed#4360 (November 2023).
// - runtime/bf16_optimizer.py: fp32 accumulation beside bf16 gradients; the fp32 gradients are
//   all-reduced, also when the optimizer is sharded (runtime/pipe/engine.py, _bf16_reduce_grads).
// - runtime/zero/stage_1_and_2.py: fp16 gradients are reduced to the rank that owns their slice,
//   through a buffer of reduce_bucket_size; the slice is copied to fp32.
FrameworkRules megatron_deepspeed_rules(const Scenario& s) {
  FrameworkRules r;
  r.name = "megatron-deepspeed";
  r.vocab_multiple = 128;
  r.tp_backward_overlap = false;
  r.forward_sync_host = true;
  r.batched_p2p = false;
  r.scatter_gather_p2p = true;
  r.scatter_gather_grads = true;
  // Counted in PartitionedTensor: detach, view, narrow, clone and the shape's copy; a stand-in cut
  // the same way, zeros, view, clone, detach; a narrow and a copy of each part out of the gather.
  r.partitioned_transfers = {.shape_read_on_host = !stack_since(s.stack, 2023, 11),
                             .shape_written_by_host = true,
                             .ops_to_cut = 6,
                             .ops_to_gather = 11,
                             .ops_to_gather_per_rank = 2};
  r.fuse_wgrad_accumulation = false;
  const bool bf16 = s.plan.precision.compute.value_or(Dtype::bf16) == Dtype::bf16;
  r.half_grads = bf16 ? HalfGrads::kept : HalfGrads::transient;
  r.zero1_all_reduces = bf16;
  r.reduction_buffer = 500'000'000;
  r.fp32_grad_copy_in_step = true;
  r.default_bucket = 500'000'000;
  r.bucket_per_dp = 0;
  r.buckets_on_first_stage_only = false;
  // Counted in megatron/model/transformer.py of that time with unfused attention and activation
  // checkpointing: 62 dispatched operators (half of them views and transposes), 11 modules and 8
  // custom autograd functions; backward has a node for each operator and each of the 12 parameters.
  r.host_layer = {.eager_ops = 62, .module_calls = 19, .backward_nodes = 74, .backward_calls = 8};
  r.host_ops_per_parameter = 6;
  // Over nodes the reductions take longer than the volume they send explains (docs/uncertainty.md).
  r.time_sigma = 0.055;
  r.slowdown_sigma = s.cluster.nodes > 1 ? 0.15 : 0.0;
  // runtime/fp16/loss_scaler.py, runtime/constants.py: initial_scale_power, loss_scale_window.
  r.loss_scaling = {.initial_log2 = 16, .growth_interval = 1000, .hysteresis = 2};
  return r;
}

}  // namespace windtunnel
