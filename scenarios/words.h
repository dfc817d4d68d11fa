#pragma once
// The words of the format for each enumeration: what a user writes and what it means.
//
// One table per enumeration, read by the loader, printed by whoever shows a plan, and compared with
// the JSON schema by a test.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/dtype.h"
#include "models/architectures/model.h"
#include "scenarios/scenario.h"

namespace windtunnel {

template <class E>
struct Word {
  std::string_view text;
  E value;
};

inline constexpr Word<Activation> kActivationWords[] = {
    {"gelu", Activation::gelu},
    {"swiglu", Activation::swiglu},
    {"geglu", Activation::geglu},
    {"relu2", Activation::relu2},
};
inline constexpr Word<NormKind> kNormWords[] = {
    {"layernorm", NormKind::layernorm},
    {"rmsnorm", NormKind::rmsnorm},
};
inline constexpr Word<PositionKind> kPositionWords[] = {
    {"learned", PositionKind::learned},
    {"rope", PositionKind::rope},
    {"alibi", PositionKind::alibi},
};
inline constexpr Word<LayerAttention> kLayerAttentionWords[] = {
    {"full", LayerAttention::full},           {"global", LayerAttention::full},
    {"full_attention", LayerAttention::full}, {"local", LayerAttention::local},
    {"sliding", LayerAttention::local},       {"sliding_attention", LayerAttention::local},
};
inline constexpr Word<NetworkKind> kNetworkWords[] = {
    {"ib", NetworkKind::ib},
    {"roce", NetworkKind::roce},
    {"efa", NetworkKind::efa},
    {"tcp", NetworkKind::tcp},
};
inline constexpr Word<Preset> kPresetWords[] = {
    {"megatron", Preset::megatron},   {"megatron_deepspeed", Preset::megatron_deepspeed},
    {"fsdp2", Preset::fsdp2},         {"fsdp1", Preset::fsdp1},
    {"deepspeed", Preset::deepspeed}, {"ddp", Preset::ddp},
    {"nanotron", Preset::nanotron},   {"none", Preset::none},
};
inline constexpr Word<CpKind> kCpWords[] = {
    {"ring", CpKind::ring},
    {"all_gather", CpKind::all_gather},
    {"ulysses", CpKind::ulysses},
    {"ulysses+ring", CpKind::ulysses_ring},
};
inline constexpr Word<ScheduleKind> kScheduleWords[] = {
    {"gpipe", ScheduleKind::gpipe},
    {"1f1b", ScheduleKind::one_f_one_b},
    {"interleaved_1f1b", ScheduleKind::interleaved_1f1b},
    {"bfs", ScheduleKind::bfs},
    {"zb_h1", ScheduleKind::zb_h1},
    {"zb_h2", ScheduleKind::zb_h2},
    {"zb_v", ScheduleKind::zb_v},
    {"dualpipe", ScheduleKind::dualpipe},
    {"dualpipe_v", ScheduleKind::dualpipe_v},
};
inline constexpr Word<ShardingKind> kShardingWords[] = {
    {"none", ShardingKind::none},   {"zero1", ShardingKind::zero1}, {"zero2", ShardingKind::zero2},
    {"zero3", ShardingKind::zero3}, {"fsdp", ShardingKind::fsdp},   {"hsdp", ShardingKind::hsdp},
};
inline constexpr Word<RecomputeKind> kRecomputeWords[] = {
    {"none", RecomputeKind::none},
    {"selective", RecomputeKind::selective},
    {"full", RecomputeKind::full},
};
inline constexpr Word<RecomputeModule> kRecomputeModuleWords[] = {
    {"core_attention", RecomputeModule::core_attention},
    {"attention", RecomputeModule::attention},
    {"mlp", RecomputeModule::mlp},
    {"norm", RecomputeModule::norm},
    {"activation", RecomputeModule::activation},
    {"moe", RecomputeModule::moe},
    {"moe_activation", RecomputeModule::moe_activation},
    {"shared_experts", RecomputeModule::shared_experts},
    {"mla_up_proj", RecomputeModule::mla_up_proj},
};
inline constexpr Word<LoraModule> kLoraModuleWords[] = {
    {"attention", LoraModule::attention},
    {"mlp", LoraModule::mlp},
};
inline constexpr Word<OptimizerKind> kOptimizerWords[] = {
    {"adamw", OptimizerKind::adamw},
    {"sgd", OptimizerKind::sgd},
    {"adam8bit", OptimizerKind::adam8bit},
    {"muon", OptimizerKind::muon},
};
inline constexpr Word<AttentionKind> kAttentionWords[] = {
    {"flash", AttentionKind::flash},
    {"unfused", AttentionKind::unfused},
};
inline constexpr Word<AttentionKernel> kAttentionKernelWords[] = {
    {"flash1", AttentionKernel::flash1}, {"flash2", AttentionKernel::flash2},
    {"flash3", AttentionKernel::flash3}, {"cudnn", AttentionKernel::cudnn},
    {"fused", AttentionKernel::fused},   {"torch", AttentionKernel::torch},
};
inline constexpr Word<NormKernel> kNormKernelWords[] = {
    {"fused", NormKernel::fused},
    {"eager", NormKernel::eager},
};
inline constexpr Word<CrossEntropyKind> kCrossEntropyWords[] = {
    {"plain", CrossEntropyKind::plain},
    {"fused", CrossEntropyKind::fused},
    {"chunked", CrossEntropyKind::chunked},
};

/// `current` is another name of `tensorwise`: the scale of a tensor is that of its own numbers.
inline constexpr Word<ScalingRecipe> kScalingWords[] = {
    {"delayed", ScalingRecipe::delayed},    {"tensorwise", ScalingRecipe::tensorwise},
    {"current", ScalingRecipe::tensorwise}, {"blockwise", ScalingRecipe::blockwise},
    {"mxfp8", ScalingRecipe::mxfp8},        {"nvfp4", ScalingRecipe::nvfp4},
};

inline constexpr Word<int> kAllocatorWords[] = {{"caching", 0}};
/// Whether the workload is inference.
inline constexpr Word<bool> kWorkloadWords[] = {{"training", false}, {"inference", true}};

/// Arithmetic of the matrix products; `field` is exact arithmetic, for runs only.
inline constexpr Word<Dtype> kComputeWords[] = {
    {"fp64", Dtype::fp64},   {"fp32", Dtype::fp32},   {"tf32", Dtype::tf32},
    {"fp16", Dtype::fp16},   {"bf16", Dtype::bf16},   {"fp8", Dtype::fp8},
    {"mxfp8", Dtype::mxfp8}, {"nvfp4", Dtype::nvfp4}, {"field", Dtype::field},
};
/// What weights and gradients are stored in.
inline constexpr Word<Dtype> kStorageWords[] = {
    {"fp64", Dtype::fp64},   {"fp32", Dtype::fp32},   {"fp16", Dtype::fp16},
    {"bf16", Dtype::bf16},   {"fp8", Dtype::fp8},     {"mxfp8", Dtype::mxfp8},
    {"nvfp4", Dtype::nvfp4}, {"field", Dtype::field},
};
/// Master weights; `none`: the optimizer updates the weights themselves.
inline constexpr Word<Dtype> kMasterWords[] = {
    {"none", Dtype::none}, {"fp64", Dtype::fp64}, {"fp32", Dtype::fp32},
    {"fp16", Dtype::fp16}, {"bf16", Dtype::bf16}, {"field", Dtype::field},
};
inline constexpr Word<Dtype> kOptimizerStateWords[] = {
    {"fp64", Dtype::fp64}, {"fp32", Dtype::fp32}, {"fp16", Dtype::fp16},
    {"bf16", Dtype::bf16}, {"fp8", Dtype::fp8},   {"field", Dtype::field},
};

/// The word of a value; "?" for a value without one.
template <class E, std::size_t N>
constexpr std::string_view word_of(const Word<E> (&table)[N], E value) {
  for (const Word<E>& word : table) {
    if (word.value == value) return word.text;
  }
  return "?";
}

}  // namespace windtunnel
