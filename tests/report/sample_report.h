#pragma once
// A step report with every field filled, for tests of its text and JSON.

#include "report/step_report.h"

namespace windtunnel {

inline Breakdown sample_stage(double bubble) {
  return {.compute = 10.0,
          .exposed_comm = {.tp = 2.0, .pp = 0.25, .dp = 0.5},
          .bubble = bubble,
          .straggler = 0.0,
          .host = 0.25,
          .input = 0.0,
          .gemm = 7.0,
          .attention = 1.0,
          .memory_bound = 2.0,
          .recompute = 0.5,
          .compute_by_module = {{"mlp", 6.0}, {"attention", 4.0}}};
}

inline StageMemory sample_stage_memory(int stage, std::int64_t gib) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  return {.stage = stage,
          .peak_allocated_bytes = (gib + 40) * kGiB,
          .peak_reserved_bytes = (gib + 42) * kGiB,
          .peak_device_bytes = (gib + 43) * kGiB,
          .by_category = {{"activations", gib * kGiB},
                          {"optimizer_states", 20 * kGiB},
                          {"master_weights", 10 * kGiB},
                          {"weights", 5 * kGiB},
                          {"grads", 4 * kGiB},
                          {"workspace", kGiB},
                          {"context", kGiB}},
          .moment = "backward, micro-batch 7, layer 12, after gemm_dgrad",
          .largest = {{"mlp_output", 2 * kGiB}, {"mlp_output", kGiB}},
          .startup_peak_bytes = 30 * kGiB,
          .first_step_peak_bytes = 41 * kGiB};
}

inline StepReport sample_report() {
  return {
      .id = "gpt3-175b",
      .name = "GPT-3 on 64 devices",
      .step_time_s = 13.75,
      .step_time_interval_s = {13.1, 14.4},
      .tokens_per_s = 9532.5,
      .tokens_per_s_per_device = 148.9,
      .mfu = 0.518,
      .hfu = 0.521,
      .flop_convention = "megatron_unhalved",
      .bottleneck = "compute",
      .runner_up = "exposed_comm",
      .lever = "larger matrix products",
      .breakdown = sample_stage(0.75),
      .stages = {sample_stage(0.75), sample_stage(0.75), sample_stage(0.75), sample_stage(0.75)},
      .memory = {.verdict = Verdict::fits,
                 .oom_probability = 0.01,
                 .capacity_bytes = std::int64_t{79} << 30,
                 .stages = {sample_stage_memory(0, 16), sample_stage_memory(1, 12),
                            sample_stage_memory(2, 12), sample_stage_memory(3, 12)},
                 .fullest_stage = 0,
                 .breaking = ""},
      .traffic = {{.stage = 0,
                   .kind = "all_gather",
                   .communicator = "tp",
                   .count = 192,
                   .elements = 4'831'838'208,
                   .bytes = 9'663'676'416},
                  {.stage = 0,
                   .kind = "send",
                   .communicator = "pp_fwd",
                   .count = 8,
                   .elements = 25'165'824,
                   .bytes = 50'331'648}},
      .origins = {"gemm: 83 % of its time from measured shapes (A100, public sweep), 17 % "
                  "from the fitted model"},
      .assumptions = {"network: one HDR adapter a device"},
      .calibrate_next = {"gemm 4096 x 12288 x 1536 bf16: 41 % of the interval"},
      .model_line = "gpt3-175b: 96 layers, hidden 12288, 96 heads",
      .cluster_line = "8 nodes of 8 a100-sxm-80gb, ib 8 x 200 Gbit/s a node",
      .plan_line = "tp 8, pp 8, dp 1, interleaved_1f1b with 3 virtual_stages",
      .stack_line = "megatron-lm 2022",
      .parameters = 174'604'259'328};
}

}  // namespace windtunnel
