#pragma once
// A resolved scenario: every key has a value, and each value says where it came from.

#include <optional>
#include <string>
#include <vector>

#include "models/architectures/adapters.h"
#include "plan/frameworks/framework.h"
#include "plan/schedules/placement.h"
#include "scenarios/scenario.h"

namespace windtunnel {

/// One line of `plan --resolved`.
struct ResolvedKey {
  std::string key;  // "plan.sharding.bucket"
  std::string value;
  std::string
      origin;  // "scenario", "preset megatron", "default", "framework rule megatron-lm", "computed"
};

struct ResolvedPlan {
  int tp = 1, pp = 1, dp = 1, cp = 1;
  CpKind cp_kind = CpKind::ring;
  int cp_heads = 1;  // consecutive cp ranks that exchange sequence for heads
  int ep = 1, etp = 1;
  int expert_ways = 1;    // replica places an expert group spans
  int routing_parts = 1;  // ranks that share a micro-batch's tokens and route each its own
  int routing_ring = 1;   // of these, context-parallel ranks, which hold zig-zag chunks
  bool overlap_ep = false;
  std::vector<std::string> order;
  bool sequence_parallel = false;
  ScheduleKind schedule = ScheduleKind::one_f_one_b;
  int virtual_stages = 1;
  ChunkPlacement placement = ChunkPlacement::loop;
  bool splits_backward = false;  // some backwards run as input gradient and weight gradient
  int micro_batch_group = 1;
  std::vector<int> layers_per_chunk;  // pp * virtual_stages entries, in model order
  std::int64_t micro_batches = 1;     // per replica and step
  ShardingKind sharding = ShardingKind::none;
  int shard_degree = 1;           // ranks of one shard group; dp * cp / this replicas of it
  int reshard_after_forward = 1;  // 0: weights stay whole until backward; 1: not; k: 1/k stays
  int prefetch = 1, forward_prefetch = 0;  // sharded units gathered ahead of the one in use, in
                                           // backward and in forward
  bool separate_reduce_group = false;      // their gradients' reductions have a communicator
  bool overlap_grad_reduce = false, overlap_param_gather = false;
  std::int64_t bucket = 0, first_bucket = 0;  // elements; 0: like the others
  RecomputeKind recompute = RecomputeKind::none;
  std::vector<RecomputeModule> recompute_modules;
  RecomputeLayers recompute_layers;
  Dtype compute = Dtype::bf16, params = Dtype::bf16, grads = Dtype::fp32, master = Dtype::fp32,
        optimizer_states = Dtype::fp32;
  ScalingRecipe scaling = ScalingRecipe::none;  // of products narrower than 16 bits
  bool transposed_operands = false;  // such products read both operands along the inner dimension
  bool loss_scaling = false;
  OptimizerKind optimizer = OptimizerKind::adamw;
  std::optional<LoraShape> lora;  // adapters are trained, all else is frozen
  AttentionKind attention = AttentionKind::flash;
  AttentionKernel attention_kernel = AttentionKernel::flash2;
  NormKernel norm_kernel = NormKernel::fused;
  // Fractions in the host's memory; copies beside kernels, on streams of their own.
  double offload_optimizer = 0.0, offload_params = 0.0, offload_activations = 0.0;
  bool offload_overlap = false;
  bool overlap_tp = false, overlap_pp = false, overlap_cp = false;
  CrossEntropyKind cross_entropy = CrossEntropyKind::plain;
  bool logits_fp32 = true;
  bool compile = false;
  GraphScope graphs = GraphScope::none;
  std::int64_t vocab_padded = 0;

  bool recomputes(RecomputeModule module) const;

  /// Optimizer states and master weights are cut over the shard group.
  bool shards_states() const { return sharding != ShardingKind::none && shard_degree > 1; }
  /// Gradients are reduced to shards in every micro-batch and never kept whole.
  bool shards_grads() const {
    return shards_states() && sharding != ShardingKind::zero1 && !accumulates_whole();
  }
  /// Weights are gathered, unit by unit, before use.
  bool shards_weights() const { return shards_states() && cuts_weights(sharding); }
  /// Sharded weights' gradients stay whole until the last micro-batch: what pipeline stages do.
  bool accumulates_whole() const { return shards_weights() && pp > 1; }
  /// Of the model, on the pipeline's stages.
  int model_copies() const { return placement == ChunkPlacement::two_way ? 2 : 1; }
  /// Ranks that hold the same weights: gradients are averaged over them.
  int replica_ranks() const { return dp * cp; }
  int replicas() const { return replica_ranks() / shard_degree; }
  /// Ranks that hold the same experts.
  int expert_replicas() const { return replica_ranks() / expert_ways; }
  /// Of these, the ranks of one shard group: expert groups lie inside shard groups.
  int expert_shards() const { return shard_degree / expert_ways; }
  /// The type of activations and of gathered weights: what the operands of products narrower than
  /// 16 bits are quantised from, and the operands of all others.
  Dtype multiplied() const {
    if (compute == Dtype::tf32) return Dtype::fp32;
    return quantizes() ? Dtype::bf16 : compute;
  }
  /// Products of the transformer layers are narrower than 16 bits.
  bool quantizes() const { return bits_of(compute) < 16; }
};

struct ResolvedScenario {
  Scenario scenario;
  ResolvedPlan plan;
  FrameworkRules rules;
  std::vector<ResolvedKey> keys;
  std::vector<std::string> assumptions;
};

}  // namespace windtunnel
