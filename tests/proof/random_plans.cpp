#include "tests/proof/random_plans.h"

#include <initializer_list>

#include "core/counter_random.h"
#include "plan/frameworks/framework.h"
#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}

  int below(int n) {
    return static_cast<int>(counter_hash(seed_, count_++) % static_cast<std::uint64_t>(n));
  }
  bool coin() { return below(2) == 1; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<int>(values.size())));
  }

 private:
  std::uint64_t seed_, count_ = 0;
};

void draw_model(Draw& d, Model& m) {
  m.layers = 2 + d.below(7);
  m.tied_embeddings = d.coin();
  m.dropout = d.coin();
  m.bias = d.coin();
  m.activation = d.of({Activation::gelu, Activation::swiglu, Activation::geglu, Activation::relu2});
  m.norm = d.of({NormKind::layernorm, NormKind::rmsnorm});
  m.position = d.of({PositionKind::learned, PositionKind::rope, PositionKind::alibi});
  m.kv_heads = d.of<std::int64_t>({2, 4});
  if (d.coin()) m.vocab_padded_to.reset();
  if (d.below(4) > 0) return;
  m.sliding_window = 1 + d.below(7);  // of a sequence of eight
  if (d.coin()) m.layer_pattern = {LayerAttention::local, LayerAttention::full};
}

/// One that splits the backward, or runs all of a chunk's micro-batches: with as many layers and
/// micro-batches as it needs.
void draw_later_schedule(Draw& d, Scenario& s) {
  using K = ScheduleKind;
  SchedulePart& part = s.plan.schedule;
  part.kind = d.of({K::bfs, K::zb_h1, K::zb_h2, K::zb_v, K::dualpipe, K::dualpipe_v});
  if (part.kind == K::dualpipe && s.plan.pp == 3) part.kind = K::dualpipe_v;
  if (part.kind == K::bfs) part.virtual_stages = 1 + d.below(2);
  const bool one_stage_has_both_ends =
      part.kind == K::zb_v || part.kind == K::dualpipe || part.kind == K::dualpipe_v;
  if (one_stage_has_both_ends) s.model.tied_embeddings = false;
  s.model.layers = 2 * s.plan.pp + d.below(3);
  s.batch.global = s.batch.micro * *s.plan.dp * 2 * (s.plan.pp + d.below(3));
  s.plan.overlap.pp = true;
}

void draw_schedule(Draw& d, Scenario& s) {
  if (s.plan.pp > 1 && d.below(3) == 0) return draw_later_schedule(d, s);
  SchedulePart& part = s.plan.schedule;
  part.kind =
      d.of({ScheduleKind::gpipe, ScheduleKind::one_f_one_b, ScheduleKind::interleaved_1f1b});
  if (part.kind == ScheduleKind::interleaved_1f1b) {
    part.virtual_stages = 2 + d.below(2);
    if (d.coin()) part.micro_batch_group = s.plan.pp + d.below(4);
  }
  if (d.coin()) {
    const int chunks = s.plan.pp == 1 ? 1 : s.plan.pp * part.virtual_stages.value_or(1);
    std::vector<int> layers(static_cast<std::size_t>(chunks), 0);
    for (int i = 0; i < s.model.layers; ++i) ++layers[static_cast<std::size_t>(d.below(chunks))];
    part.layers_per_stage = layers;
  }
  s.plan.overlap.pp = d.coin();
}

void draw_recompute(Draw& d, RecomputePart& part) {
  part.kind = d.of({RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full});
  if (part.kind == RecomputeKind::selective) {
    std::vector<RecomputeModule> modules{RecomputeModule::core_attention};
    for (const auto module : {RecomputeModule::attention, RecomputeModule::mlp,
                              RecomputeModule::norm, RecomputeModule::activation}) {
      if (d.coin()) modules.push_back(module);
    }
    part.modules = modules;
  }
  part.layers = d.of({RecomputeLayers{.kind = RecomputeLayers::Kind::all, .n = 0},
                      RecomputeLayers{.kind = RecomputeLayers::Kind::first, .n = 1},
                      RecomputeLayers{.kind = RecomputeLayers::Kind::every, .n = 2}});
}

void draw_sharding(Draw& d, ShardingPart& part) {
  using K = ShardingKind;
  part = {.kind = d.of({K::none, K::zero1, K::zero2, K::zero3, K::fsdp, K::hsdp}),
          .overlap_grad_reduce = d.coin(),
          .overlap_param_gather = d.coin(),
          .bucket = 100 + d.below(4000)};
  if (part.kind == K::none) return;
  if (d.coin()) part.shard_degree = d.of({1, 2, 4});
  if (part.kind == K::zero1 || part.kind == K::zero2) return;
  if (d.coin()) part.reshard_after_forward = d.of({0, 1, 2});
  if (d.coin()) part.prefetch = d.below(4);
}

/// Sharded gradients and weights that no stack has on pipeline stages would mostly be refused.
void avoid_refused_pipelines(Draw& d, Scenario& s) {
  using K = ShardingKind;
  ShardingPart& part = s.plan.sharding;
  if (part.kind == K::none || part.kind == K::zero1) return;
  s.plan.preset = d.of({Preset::none, Preset::fsdp2});
  s.stack = {};
  if (part.kind == K::zero2) return;
  s.model.tied_embeddings = false;
  if (part.reshard_after_forward == 2) part.reshard_after_forward = 1;
}

void draw_numerics(Draw& d, Plan& p) {
  p.attention = d.of({AttentionKind::flash, AttentionKind::unfused});
  p.optimizer = d.of({OptimizerKind::adamw, OptimizerKind::adamw, OptimizerKind::sgd});
  p.precision.compute = d.of({Dtype::bf16, Dtype::fp16, Dtype::fp32, Dtype::tf32});
  if (d.coin()) p.precision.grads = d.of({Dtype::bf16, Dtype::fp32});
  p.logits_fp32 = d.coin();
}

/// Half of the plans split the sequence of eight, over as many ranks as there may be.
void draw_context(Draw& d, Scenario& s, int most) {
  Plan& p = s.plan;
  if (most < 2 || d.coin()) return;
  p.cp = most < 4 ? 2 : d.of({2, 2, 4});
  p.cp_kind = d.of({CpKind::ring, CpKind::all_gather, CpKind::ulysses, CpKind::ulysses_ring});
  const bool rings = p.cp_kind == CpKind::ring || p.cp_kind == CpKind::ulysses_ring;
  if (rings && d.coin()) p.overlap.cp = d.coin();
  if (p.cp_kind != CpKind::ulysses) {  // what is refused would leave few of them
    p.attention = AttentionKind::flash;
    if (s.model.position == PositionKind::alibi) s.model.position = PositionKind::rope;
  }
}

/// Experts in place of the MLPs, in groups over the data- and context-parallel axes.
void draw_experts(Draw& d, Scenario& s) {
  Model& m = s.model;
  m.bias = false;
  m.moe = MoeShape{.experts = d.of<std::int64_t>({4, 8}),
                   .top_k = 1 + d.below(3),
                   .ffn = 8,
                   .shared_experts = d.below(3),
                   .dense_layers = d.below(2),
                   .every = 1 + d.below(2),
                   .router_bias = d.coin()};
  if (d.coin()) m.moe->capacity_factor = d.of({1.0, 1.25, 2.0});
  if (!m.moe->capacity_factor && d.coin()) m.moe->imbalance = 1.5;
  s.plan.overlap.ep = m.moe->shared_experts > 0 && d.coin();
  const int replicas = *s.plan.dp * s.plan.cp;
  if (s.plan.tp > 1) s.plan.sequence_parallel = true;
  s.plan.ep = d.of({1, 2, 4});
  if (replicas % s.plan.ep != 0) s.plan.ep = 1;
  if (s.plan.tp > 1) s.plan.etp = s.plan.tp;
  if (d.coin() && s.plan.ep * s.plan.tp <= 4) {
    s.plan.ep *= s.plan.tp;
    s.plan.etp = 1;
  }
  if (s.plan.ep > 1) {
    ShardingPart& part = s.plan.sharding;
    if (part.shard_degree && *part.shard_degree % s.plan.ep != 0) part.shard_degree.reset();
    if (part.reshard_after_forward == 2) part.reshard_after_forward = 1;
  }
  if (s.plan.recompute.modules && d.coin()) {
    s.plan.recompute.modules->push_back(d.of(
        {RecomputeModule::moe, RecomputeModule::moe_activation, RecomputeModule::shared_experts}));
  }
}

/// Adapters in a third of the plans that may have them.
void draw_adapters(Draw& d, Scenario& s) {
  const bool cuts = s.plan.preset == Preset::none || s.plan.preset == Preset::megatron;
  if (s.model.moe || s.plan.overlap.tp || (s.plan.tp > 1 && !cuts) || d.below(3) > 0) return;
  s.plan.lora = Lora{.rank = 4, .alpha = 1 + d.below(8), .modules = {}};
  s.plan.lora->modules = d.of({std::vector{LoraModule::attention}, std::vector{LoraModule::mlp},
                               std::vector{LoraModule::mlp, LoraModule::attention}});
}

/// A quarter of the plans whose stack does it have something on the host.
void draw_offload(Draw& d, Scenario& s) {
  using K = ScheduleKind;
  if (s.plan.lora || s.plan.preset == Preset::megatron || d.below(4) > 0) return;
  OffloadPart& part = s.plan.offload;
  const ShardingKind sharding = s.plan.sharding.kind.value_or(ShardingKind::none);
  const bool shares = s.plan.preset == Preset::none;
  const bool weights = cuts_weights(sharding) && *s.plan.dp * s.plan.cp > 1 &&
                       s.plan.sharding.shard_degree.value_or(2) > 1;
  if (weights && (!shares || d.coin())) part = {.optimizer = 1.0, .params = 1.0};
  if (!weights && sharding != ShardingKind::none) part.optimizer = shares ? d.of({0.3, 1.0}) : 1.0;
  if (part.optimizer > 0.0 && d.coin()) part.overlap = d.coin();
  const K schedule = s.plan.schedule.kind.value_or(K::one_f_one_b);
  const bool whole_backward = schedule == K::gpipe || schedule == K::one_f_one_b ||
                              schedule == K::interleaved_1f1b || schedule == K::bfs;
  if (shares && whole_backward && d.coin()) part.activations = d.of({0.5, 1.0});
}

}  // namespace

Scenario random_scenario(std::uint64_t seed) {
  Draw d(seed);
  Scenario s = toy_gpt();
  draw_model(d, s.model);
  constexpr int kMostRanks = 16;
  int dp = 0;
  do {
    s.plan.tp = d.of({1, 2, 4});
    s.plan.pp = d.of({1, 2, 3, 4});
    dp = d.of({1, 2, 3, 4});
  } while (s.plan.tp * s.plan.pp * dp > kMostRanks);
  s.plan.dp = dp;
  s.batch.micro = 1 + d.below(3);
  s.batch.global = s.batch.micro * dp * (1 + d.below(9));
  s.plan.sequence_parallel = d.coin();
  draw_schedule(d, s);
  draw_sharding(d, s.plan.sharding);
  draw_recompute(d, s.plan.recompute);
  draw_numerics(d, s.plan);
  s.plan.order =
      d.of({std::vector<std::string>{"tp", "cp", "ep", "dp", "pp"},
            std::vector<std::string>{"tp", "pp", "dp"}, std::vector<std::string>{"dp", "tp", "pp"},
            std::vector<std::string>{"pp", "dp", "tp"}});
  s.plan.preset =
      d.of({Preset::none, Preset::megatron, Preset::fsdp2, Preset::fsdp1, Preset::deepspeed});
  if (s.plan.preset == Preset::megatron) {
    s.stack.framework = "megatron-lm";
    s.stack.date = d.of({"", "2021-03", "2022-05", "2023-11", "2025-06"});
  } else if (s.plan.preset != Preset::none) {
    s.stack.date = d.of({"2024-06", "2025-06"});
  }
  if (s.plan.pp > 1) avoid_refused_pipelines(d, s);
  const bool experts = d.below(3) == 0;
  if (!experts || d.coin()) draw_context(d, s, kMostRanks / (s.plan.tp * s.plan.pp * dp));
  if (experts) draw_experts(d, s);
  if (framework_rules(s).tp_overlap != TpOverlap::none && s.plan.tp > 1 && d.coin()) {
    s.plan.sequence_parallel = true;
    s.plan.overlap.tp = true;
  }
  draw_adapters(d, s);
  draw_offload(d, s);
  s.model.parallel_block = d.below(4) == 0;
  s.cluster.devices_per_node = s.plan.tp * s.plan.pp * s.plan.cp * dp;
  s.cluster.nvlink_domain = d.coin() ? 2 : s.cluster.devices_per_node;
  return s;
}

}  // namespace windtunnel::proof
