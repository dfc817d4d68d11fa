#include "plan/frameworks/framework.h"

namespace windtunnel {

namespace {

constexpr std::int64_t kMebi = 1 << 20;

/// A flat parameter's views start at addresses kernels like (torch/distributed/fsdp/_flat_param.py,
/// _get_aligned_numel, with use_orig_params).
constexpr ShardedUnitRules kFlatParameters{.unshard = UnshardKind::host_limited,
                                           .aligned_bytes = 16};

/// torchtitan wraps the embedding, and the final norm with the head, as units of their own since
/// its pull request 1011 (March 2025, models/llama3/infra/parallelize.py); before, they lay in the
/// root and the last layer was not resharded after forward. fully_shard called on the layers and
/// the model reshards every layer.
ShardedUnitRules fully_shard_rules(const Scenario& s) {
  const bool own_units = stack_since(s.stack, 2025, 4);
  return {
      .unshard = UnshardKind::copied_out,
      .pads_each_parameter = true,
      .ends_in_root = !own_units,
      .head_stays = own_units,
      .last_layer_stays = !own_units && s.stack.framework.find("torchtitan") != std::string::npos};
}

/// torchtitan compiled its loss from pull request 642 (October 2024) to 755, which turned that off
/// over errors (19 December 2024), and again since 1033 (April 2025).
bool compiles_loss(const Scenario& s) {
  if (s.stack.framework.find("torchtitan") == std::string::npos) return true;
  const bool first_time = stack_since(s.stack, 2024, 11) && !stack_since(s.stack, 2024, 12);
  return first_time || stack_since(s.stack, 2025, 4);
}

}  // namespace

// Operators and modules of one layer, views included. Llama of torchtitan
// (models/llama3/model.py): norms 2, seven linears, views and transposes 14, rotary 16, attention
// 1, SwiGLU 2, additions 2. MPT of llm-foundry (models/layers/blocks.py, attention.py): norms 2,
// four linears, the qkv row cut and shaped 7, attention 2, GELU 1, dropouts and additions 4.
constexpr HostCalls kLlamaLayer{.eager_ops = 44, .module_calls = 12, .backward_nodes = 44};
constexpr HostCalls kGptLayer{
    .eager_ops = 20, .module_calls = 12, .backward_nodes = 20, .backward_calls = 1};

// PyTorch. Sources: torch/nn/parallel/distributed.py and csrc/distributed/c10d/reducer.hpp (buckets
// of 25 MiB, the first of 1 MiB; accumulation into .grad is an operator of its own);
// torch/distributed/fsdp/_fully_shard (one gather and one reduction for each unit);
// torch/distributed/fsdp/_runtime_utils.py and _limiter_utils.py (FSDP1: the host waits before it
// gathers a third unit).
FrameworkRules pytorch_rules(const Scenario& s) {
  FrameworkRules r;
  r.name = "pytorch";
  r.units = s.plan.preset == Preset::fsdp1 ? kFlatParameters : fully_shard_rules(s);
  r.fuse_wgrad_accumulation = false;
  r.buckets_on_first_stage_only = false;
  // Under sequence parallel a column-parallel layer keeps its gathered input
  // (torch/distributed/tensor/parallel/style.py; tests/peers/recordings/tensor_parallel_2.json).
  r.keep_gathered_input = true;
  // "Async TP": torch/distributed/_symmetric_memory/__init__.py, whose fused operators
  // torch/_inductor/fx_passes/micro_pipeline_tp.py puts in; PyTorch 2.5 nightlies, September 2024.
  if (stack_since(s.stack, 2024, 9)) r.tp_overlap = TpOverlap::symmetric_memory;
  r.rounds_of_micro_batches = true;  // torch/distributed/pipelining/schedules.py, number_of_rounds
  const Dtype grads = s.plan.precision.grads.value_or(Dtype::fp32);
  r.first_bucket = kMebi * 8 / bits_of(grads);
  r.default_bucket = 25 * kMebi * 8 / bits_of(grads);
  r.bucket_per_dp = 0;
  r.host_layer = s.model.gated() ? kLlamaLayer : kGptLayer;
  // Sharded weights: torch.compile of each block, mode reduce-overhead (PyTorch 2.0, March 2023),
  // whose graphs end at the hooks that gather and reduce. Whole replicas: the capture of a whole
  // network with DistributedDataParallel in PyTorch's notes on CUDA semantics (1.10, October 2021).
  const bool ddp = s.plan.preset == Preset::ddp;
  if (stack_since(s.stack, ddp ? 2021 : 2023, ddp ? 10 : 3))
    r.graphs = ddp ? GraphScope::iteration : GraphScope::layer;
  r.separate_qkv = true;  // torchtitan models/qwen3/model.py, transformers models/qwen3
  // CPUOffload and CPUOffloadPolicy: parameters, gradients and the optimizer, which is whichever
  // the user made, on the host (torch/distributed/fsdp/api.py, fully_shard/_fsdp_api.py;
  // _fsdp_param.py copies a shard in front of its gather, _fsdp_collectives.py the gradients behind
  // their reduction). torch.optim's Adam without `fused` passes over its operands operation by
  // operation.
  r.offload = {.optimizer = s.plan.preset != Preset::ddp,
               .part_of_optimizer = false,
               .needs_sharded_states = true,
               .gradients_in_backward = true,
               .one_pass = false,
               .overlaps = true,
               .params = s.plan.preset != Preset::ddp,
               .optimizer_alone = false};
  // PEFT (tuners/lora/model.py) and torchtune (modules/peft/lora.py) adapt each nn.Linear.
  r.adapters_per_projection = true;
  r.host_ops_per_parameter = 2;
  r.compiles_loss = compiles_loss(s);
  r.loss_gradient = s.plan.tp > 1 ? LossGradient::loss_parallel : LossGradient::through_log;
  // torchao casts at each use and writes both layouts (float8/float8_linear.py @024fe94f,
  // torchao/testing/training/roofline_utils.py @05980129).
  r.quantized = {.fp8_recipe = ScalingRecipe::tensorwise,
                 .keeps_weights = false,
                 .always_transposes = true,
                 .norm_quantizes = false,
                 .experts_apart = false};
  r.time_sigma = 0.08;
  return r;
}

}  // namespace windtunnel
