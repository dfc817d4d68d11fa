#include "plan/frameworks/framework.h"

namespace windtunnel {

namespace {

/// core/optimizer/cpu_offloading/hybrid_optimizer.py, HybridDeviceOptimizer: gradients leave in
/// the step, torch's fused CPU Adam updates; arguments.py: it needs the precision-aware optimizer,
/// which is a distributed one, and --overlap-cpu-optimizer-d2h-h2d is off. March 2025 (core 0.12).
/// Activations: --cpu-offloading-num-layers on Transformer Engine's offloading
/// (core/transformer/transformer_config.py has what it excludes), core 0.4, December 2023;
/// core/pipeline_parallel/fine_grained_activation_offload.py, November 2025 (core 0.15).
OffloadRules offload_rules(const Stack& stack) {
  return {.optimizer = stack_since(stack, 2025, 3),
          .needs_sharded_states = true,
          .activations = stack_since(stack, 2025, 11)   ? ActivationsOffload::any
                         : stack_since(stack, 2023, 12) ? ActivationsOffload::whole_layers
                                                        : ActivationsOffload::none};
}

}  // namespace

// Megatron-LM. Sources: NVIDIA/Megatron-LM repository, core/tensor_parallel/layers.py (asynchronous
// input-gradient reductions, wgrad fusion), core/pipeline_parallel/p2p_communication.py (a device
// synchronize after batched transfers), core/distributed/param_and_grad_buffer.py (buckets),
// training/arguments.py (vocabulary padding); Korthikanti et al. 2022 (2205.05198) for the 2022
// stack.
FrameworkRules megatron_lm_rules(const Scenario& s) {
  FrameworkRules r;
  r.name = "megatron-lm";
  r.vocab_multiple = 128;
  // Asynchronous tensor-parallel all-reduce in backward: Megatron-LM v3.0, early 2022.
  r.tp_backward_overlap = stack_since(s.stack, 2022, 1);
  // TransformerEngine's userbuffers (pytorch/module/base.py, initialize_ub), which
  // --tp-comm-overlap turns on: NVIDIA's MLPerf Training v3.0 submissions had them in May 2023.
  if (stack_since(s.stack, 2023, 5)) r.tp_overlap = TpOverlap::userbuffers;
  r.p2p_sync_host = true;
  // Gradient accumulation fused into wgrad needs the fp32 accumulation buffer and APEX: mid 2022.
  r.fuse_wgrad_accumulation = stack_since(s.stack, 2022, 4);
  // fp16 without accumulation in fp32 keeps fp16 gradients; the optimizer copies them to fp32.
  r.fp32_grad_copy_in_step = true;
  // Scatter/gather of pipeline transfers (SC21) was the default without sequence parallel until
  // core.
  r.scatter_gather_p2p = !stack_since(s.stack, 2022, 12);
  r.scatter_gather_grads = r.scatter_gather_p2p;
  // As in megatron_deepspeed.cpp before Transformer Engine; its fused LayerNorm-Linear modules and
  // flash attention (2024 on) halve the operators.
  const bool engine = stack_since(s.stack, 2023, 12);
  r.host_layer =
      engine ? HostCalls{.eager_ops = 24,
                         .module_calls = 16,
                         .backward_nodes = 30,
                         .backward_calls = 8}
             : HostCalls{
                   .eager_ops = 62, .module_calls = 19, .backward_nodes = 74, .backward_calls = 8};
  // Probabilities are sent with the rows and weigh the experts' activations
  // (core/transformer/moe/experts.py, TEGroupedMLP): there by mid 2025.
  r.weighs_in_experts = stack_since(s.stack, 2025, 6);
  // Graphs of a layer: Transformer Engine's make_graphed_callables in NeMo, then core's
  // CudaGraphManager (transformer/cuda_graphs.py), 2024; of an iteration: FullCudaGraphWrapper
  // (full_cuda_graph.py, core 0.14), which NVIDIA's MLPerf submissions used before.
  const bool whole = s.stack.framework.find("mlperf") != std::string::npos;
  r.graphs = whole                           ? GraphScope::iteration
             : stack_since(s.stack, 2024, 1) ? GraphScope::layer
                                             : GraphScope::none;
  // TransformerEngine context_parallel.py, attn_forward_func_with_cp @015d2257: keys wider than
  // values need p2p or a2a+p2p.
  r.latent_keys_in_rings = true;
  // TransformerEngine's ring adds up dK, dV in buffers of their type (context_parallel.py).
  r.ring_gradients_narrow = true;
  r.offload = offload_rules(s.stack);
  // Megatron-Bridge peft/recompute.py: the first recomputed layer's frozen input is made to require
  // a gradient, without which tensor_parallel.checkpoint runs no backward.
  r.checkpoints_need_input_grad = true;
  r.host_ops_per_parameter = 2;
  // training/arguments.py: initial_loss_scale 2^32, loss_scale_window, hysteresis.
  r.loss_scaling = {.initial_log2 = 32, .growth_interval = 1000, .hysteresis = 2};
  // training/arguments.py: fp8_recipe delayed; NVIDIA-NeMo/Megatron-Bridge scripts/performance/
  // utils/precision.py: tensorwise, in every layer (first_last_layers_bf16 off).
  const bool bridge = s.stack.framework.find("bridge") != std::string::npos;
  r.quantized = {.fp8_recipe = bridge ? ScalingRecipe::tensorwise : ScalingRecipe::delayed};
  // Megatron-Bridge scripts/performance/utils/executors.py, slurm_executor: --segment is the most
  // nodes a domain holds that divide the job's.
  r.equal_segments = bridge;
  // What the stack's versions differ by on one plan (docs/uncertainty.md).
  r.time_sigma = s.model.moe ? 0.22 : bridge ? 0.037 : 0.02;
  return r;
}

}  // namespace windtunnel
