#include "plan/preset_defaults.h"

#include <array>

#include "core/check.h"

namespace windtunnel {

namespace {

// Sources. megatron: Megatron-LM training/arguments.py (overlap flags are off unless asked for;
// interleaved p2p overlaps since core 0.3, mid 2023, in NeMo since May of it:
// mlcommons/training_results_v3.0, NVIDIA's gpt3, conf/megatron_gpt_config.yaml).
// megatron_deepspeed: DeepSpeed runtime/pipe/topology.py (axes pipe, data, model) and
// runtime/zero/config.py. nanotron:
// parallel/context.py (grid ep, pp, dp, cp, tp) and optim/gradient_accumulator.py (reduction hooked
// into backward). Context parallelism: megatron: TransformerEngine's default cp_comm_type, p2p;
// PyTorch: torchtitan's context_parallel_rotate_method, allgather; DeepSpeed: Ulysses
// (deepspeed/sequence/layer.py); nanotron has none that splits attention.
constexpr std::array kPresets = {
    PresetDefaults{Preset::none, "none", ShardingKind::none, "tp-cp-ep-dp-pp", true, false, false,
                   false, CpKind::ring, false,
                   "the textbook plan: nothing overlaps, nothing is sharded"},
    PresetDefaults{Preset::megatron, "megatron", ShardingKind::none, "tp-cp-ep-dp-pp", false, false,
                   false, true, CpKind::ring, true, "Megatron-LM and its descendants"},
    PresetDefaults{Preset::megatron_deepspeed, "megatron_deepspeed", ShardingKind::none,
                   "tp-cp-ep-dp-pp", false, false, false, false, CpKind::ulysses, false,
                   "Megatron-DeepSpeed"},
    PresetDefaults{Preset::fsdp2, "fsdp2", ShardingKind::fsdp, "tp-cp-ep-dp-pp", true, true, true,
                   false, CpKind::all_gather, true, "PyTorch fully_shard"},
    PresetDefaults{Preset::fsdp1, "fsdp1", ShardingKind::fsdp, "tp-cp-ep-dp-pp", true, true, true,
                   false, CpKind::all_gather, true, "PyTorch FullyShardedDataParallel"},
    PresetDefaults{Preset::deepspeed, "deepspeed", ShardingKind::none, "tp-cp-ep-dp-pp", false,
                   false, false, false, CpKind::ulysses, false, "DeepSpeed ZeRO"},
    PresetDefaults{Preset::ddp, "ddp", ShardingKind::none, "tp-cp-ep-dp-pp", true, true, false,
                   false, CpKind::all_gather, true, "PyTorch DistributedDataParallel"},
    PresetDefaults{Preset::nanotron, "nanotron", ShardingKind::none, "tp-cp-dp-pp-ep", true, true,
                   false, false, CpKind::ring, true, "Hugging Face nanotron"},
};

bool has_prefix(const std::string& text, std::string_view prefix) {
  return text.rfind(prefix, 0) == 0;
}

}  // namespace

std::span<const PresetDefaults> preset_table() {
  return kPresets;
}

const PresetDefaults& defaults_of(Preset preset) {
  for (const PresetDefaults& row : kPresets) {
    if (row.preset == preset) return row;
  }
  CHECK(false, "every preset has a row");
  return kPresets[0];
}

AttentionKernel default_attention_kernel(const Scenario& s, AttentionKind attention) {
  if (attention == AttentionKind::unfused) return AttentionKernel::fused;
  // llm-foundry's benchmarks run the Triton kernel of the first FlashAttention
  // (mosaicml/llm-foundry scripts/train/benchmarking/submit_benchmarks.py, attn_impl).
  if (s.stack.framework.find("composer") != std::string::npos) return AttentionKernel::flash1;
  const std::string& device = s.cluster.device;
  if (has_prefix(device, "b") || has_prefix(device, "gb")) return AttentionKernel::cudnn;
  const bool hopper = has_prefix(device, "h") || has_prefix(device, "gh");
  // TransformerEngine chose cuDNN attention on Hopper from 1.6 (mid 2024).
  const bool te = s.plan.preset == Preset::megatron && stack_since(s.stack, 2024, 6);
  if (hopper && te) return AttentionKernel::cudnn;
  // FlashAttention-2 appeared in July 2023.
  if (!stack_since(s.stack, 2023, 7)) return AttentionKernel::flash1;
  return AttentionKernel::flash2;
}

}  // namespace windtunnel
