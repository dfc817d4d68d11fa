#include "tests/proof/dense_plans.h"

namespace windtunnel::proof {

namespace {

struct Degrees {
  int tp = 1, pp = 1, dp = 1;
};

void degrees(Scenario& s, const Degrees& d) {
  s.plan.tp = d.tp;
  s.plan.pp = d.pp;
  s.plan.dp = d.dp;
}

void sequence_parallel(Scenario& s) {
  s.plan.sequence_parallel = true;
}

void interleaved(Scenario& s, int virtual_stages) {
  s.plan.schedule.kind = ScheduleKind::interleaved_1f1b;
  s.plan.schedule.virtual_stages = virtual_stages;
}

void zero1(Scenario& s) {
  s.plan.sharding.kind = ShardingKind::zero1;
}

/// Buckets of a few parameters, reduced and gathered beside the computation.
void overlapped(Scenario& s) {
  s.plan.sharding.overlap_grad_reduce = true;
  s.plan.sharding.overlap_param_gather = true;
  s.plan.sharding.bucket = 1000;
}

void recompute(Scenario& s, std::vector<RecomputeModule> modules) {
  s.plan.recompute.kind = RecomputeKind::selective;
  s.plan.recompute.modules = std::move(modules);
}

void full_recompute(Scenario& s) {
  s.plan.recompute.kind = RecomputeKind::full;
}

void unfused(Scenario& s) {
  s.plan.attention = AttentionKind::unfused;
}

void framework(Scenario& s, const char* name, const char* date) {
  s.stack.framework = name;
  s.stack.date = date;
}

}  // namespace

// A list is as long as what it lists.
std::vector<PlanCase> dense_plans() {  // NOLINT(readability-function-size)
  using M = RecomputeModule;
  return {
      {"accumulate", toy_gpt, [](Scenario& s) { s.batch.micro = 2; }},
      {"dp2", toy_gpt, [](Scenario& s) { degrees(s, {.dp = 2}); }},
      {"dp4_micro2", toy_llama,
       [](Scenario& s) {
         degrees(s, {.dp = 4});
         s.batch.micro = 2;
       }},
      {"tp2", toy_gpt, [](Scenario& s) { degrees(s, {.tp = 2}); }},
      {"tp2_untied", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.tp = 2});
         s.model.tied_embeddings = false;
       }},
      {"tp4_sp", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.tp = 4});
         sequence_parallel(s);
         s.batch.micro = 2;
       }},
      {"tp2_llama", toy_llama, [](Scenario& s) { degrees(s, {.tp = 2}); }},
      {"tp2_sp_llama", toy_llama,
       [](Scenario& s) {
         degrees(s, {.tp = 2});
         sequence_parallel(s);
       }},
      {"tp4_bloom", toy_bloom, [](Scenario& s) { degrees(s, {.tp = 4}); }},
      {"tp2_sp_bloom_unfused", toy_bloom,
       [](Scenario& s) {
         degrees(s, {.tp = 2});
         sequence_parallel(s);
         unfused(s);
       }},
      {"tp2_gpt_unfused", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.tp = 2});
         unfused(s);
       }},
      {"sliding_window", toy_llama, [](Scenario& s) { s.model.sliding_window = 3; }},
      {"tp2_sliding_window_by_turns", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.tp = 2});
         s.model.sliding_window = 4;
         s.model.layer_pattern = {LayerAttention::local, LayerAttention::local,
                                  LayerAttention::full};
       }},
      {"tp2_sliding_window_unfused", toy_bloom,
       [](Scenario& s) {
         degrees(s, {.tp = 2});
         unfused(s);
         s.model.sliding_window = 2;
       }},
      {"pp2_sliding_window_recompute", toy_llama,
       [](Scenario& s) {
         degrees(s, {.pp = 2});
         s.model.sliding_window = 5;
         s.model.layer_pattern = {LayerAttention::full, LayerAttention::local};
         s.plan.recompute.kind = RecomputeKind::full;
       }},
      {"pp2_gpipe", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.pp = 2});
         s.plan.schedule.kind = ScheduleKind::gpipe;
       }},
      {"pp2_1f1b", toy_gpt, [](Scenario& s) { degrees(s, {.pp = 2}); }},
      {"pp4_1f1b", toy_llama, [](Scenario& s) { degrees(s, {.pp = 4}); }},
      {"pp4_1f1b_overlap", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.pp = 4});
         s.plan.overlap.pp = true;
       }},
      {"pp4_few_micro_batches", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.pp = 4, .dp = 2});
         s.batch.micro = 4;
       }},
      {"pp2_uneven", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.pp = 2});
         s.plan.schedule.layers_per_stage = {3, 1};
       }},
      {"pp3_uneven", toy_llama,
       [](Scenario& s) {
         degrees(s, {.pp = 3});
         s.plan.schedule.layers_per_stage = {1, 2, 1};
       }},
      {"pp2_interleaved", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.pp = 2});
         interleaved(s, 2);
       }},
      {"pp2_interleaved_overlap", toy_llama,
       [](Scenario& s) {
         degrees(s, {.pp = 2});
         interleaved(s, 2);
         s.plan.overlap.pp = true;
       }},
      {"pp2_interleaved_group4", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.pp = 2});
         interleaved(s, 2);
         s.plan.schedule.micro_batch_group = 4;
         s.plan.overlap.pp = true;
       }},
      {"pp2_interleaved_group3", toy_gpt,  // groups of 3, 3 and 2 micro-batches
       [](Scenario& s) {
         degrees(s, {.pp = 2, .dp = 2});
         interleaved(s, 2);
         s.plan.schedule.micro_batch_group = 3;
       }},
      {"dp2_zero1", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.dp = 2});
         zero1(s);
       }},
      {"dp4_overlap", toy_llama,
       [](Scenario& s) {
         degrees(s, {.dp = 4});
         overlapped(s);
       }},
      {"dp4_zero1_overlap", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.dp = 4});
         zero1(s);
         overlapped(s);
       }},
      {"dp3_zero1_padded_buckets", toy_llama,
       [](Scenario& s) {
         degrees(s, {.dp = 3});
         s.batch.global = 12;
         zero1(s);
         overlapped(s);
       }},
      {"dp2_zero1_sgd", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.dp = 2});
         zero1(s);
         s.plan.optimizer = OptimizerKind::sgd;
       }},
      {"dp2_no_master", toy_llama,
       [](Scenario& s) {
         degrees(s, {.dp = 2});
         zero1(s);
         s.plan.precision.compute = Dtype::fp32;
       }},
      {"full_recompute", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 2});
         full_recompute(s);
       }},
      {"full_recompute_first_layer", toy_llama,
       [](Scenario& s) {
         degrees(s, {.pp = 2});
         full_recompute(s);
         s.plan.recompute.layers = RecomputeLayers{.kind = RecomputeLayers::Kind::first, .n = 1};
       }},
      {"recompute_core_attention", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.tp = 2});
         sequence_parallel(s);
         unfused(s);
         recompute(s, {M::core_attention});
       }},
      {"recompute_attention_and_mlp", toy_llama,
       [](Scenario& s) {
         degrees(s, {.tp = 2});
         sequence_parallel(s);
         recompute(s, {M::attention, M::mlp});
       }},
      {"recompute_norm_and_activation", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.tp = 2});
         recompute(s, {M::norm, M::activation});
       }},
      {"tp2_pp2_dp2_plain", toy_gpt, [](Scenario& s) { degrees(s, {.tp = 2, .pp = 2, .dp = 2}); }},
      {"tp2_pp2_dp2", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         sequence_parallel(s);
         zero1(s);
         overlapped(s);
       }},
      {"tp2_pp2_dp4_order", toy_llama,
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 2, .dp = 4});
         sequence_parallel(s);
         zero1(s);
         s.plan.order = {"tp", "cp", "pp", "dp"};
       }},
      {"tp4_pp2_dp2_order_dp_first", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.tp = 4, .pp = 2, .dp = 2});
         s.plan.order = {"dp", "tp", "cp", "pp"};
       }},
      {"tp2_pp4_dp2", toy_bloom,
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 4, .dp = 2});
         sequence_parallel(s);
         zero1(s);
         overlapped(s);
         full_recompute(s);
       }},
      {"tp2_pp2_dp2_interleaved", toy_gpt,
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         sequence_parallel(s);
         interleaved(s, 2);
         zero1(s);
         overlapped(s);
         s.plan.overlap.pp = true;
       }},
      {"megatron_2021",
       toy_gpt,  // scatter/gather transfers, fp16 gradients copied by the optimizer
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         framework(s, "megatron-lm", "2021-06");
         s.plan.preset = Preset::megatron;
         s.plan.precision.compute = Dtype::fp16;
         unfused(s);
       }},
      {"megatron_2024", toy_llama,
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         framework(s, "megatron-lm", "2024-06");
         s.plan.preset = Preset::megatron;
         sequence_parallel(s);
         zero1(s);
         overlapped(s);
         interleaved(s, 2);
       }},
      {"megatron_layer_graphs", toy_llama,
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         framework(s, "megatron-lm", "2025-09");
         s.plan.preset = Preset::megatron;
         zero1(s);
         s.plan.cuda_graphs = true;
       }},
      {"megatron_iteration_graphs", toy_gpt,  // without the synchronizations after transfers
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         framework(s, "mlperf megatron", "2025-09");
         s.plan.preset = Preset::megatron;
         overlapped(s);
         s.plan.cuda_graphs = true;
       }},
      {"megatron_deepspeed", toy_bloom,
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         framework(s, "megatron-deepspeed", "2022-03");
         s.plan.preset = Preset::megatron_deepspeed;
         zero1(s);
         unfused(s);
       }},
      {"nanotron", toy_llama,
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         framework(s, "nanotron", "2024-10");
         s.plan.preset = Preset::nanotron;
         sequence_parallel(s);
         zero1(s);
       }},
      {"megatron_deepspeed_interleaved", toy_bloom,  // around the ring: batched transfers
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 2});
         framework(s, "megatron-deepspeed", "2022-03");
         s.plan.preset = Preset::megatron_deepspeed;
         interleaved(s, 2);
       }},
      {"nanotron_interleaved_overlap", toy_llama,  // host work around asynchronous receives
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         framework(s, "nanotron", "2024-10");
         s.plan.preset = Preset::nanotron;
         interleaved(s, 2);
         s.plan.overlap.pp = true;
       }},
      {"aleph_alpha", toy_llama,
       [](Scenario& s) {
         degrees(s, {.tp = 2, .pp = 2, .dp = 2});
         framework(s, "aleph alpha scaling", "2023-11");
         sequence_parallel(s);
         zero1(s);
       }},
  };
}

}  // namespace windtunnel::proof
