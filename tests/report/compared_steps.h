#pragma once
// Two steps with known differences: B's exposed tp communication is 3 s longer, its bubble 0.5 s
// shorter, its weights 1 GiB larger on stage 1, and it gathers twice as often.

#include "tests/report/sample_report.h"

namespace windtunnel {

inline StepReport changed_report() {
  StepReport b = sample_report();
  b.id = "changed";
  b.plan_line = "tp 8, pp 4, dp 2";
  const auto change = [](Breakdown& breakdown) {
    breakdown.exposed_comm.tp += 3.0;
    breakdown.bubble -= 0.5;
  };
  change(b.breakdown);
  for (Breakdown& stage : b.stages) change(stage);
  b.step_time_s += 2.5;
  b.step_time_interval_s = {15.5, 17.0};
  b.tokens_per_s = 8066.0;
  b.tokens_per_s_per_device = 126.0;
  b.mfu = 0.438;
  b.hfu = 0.441;
  StageMemory& stage = b.memory.stages[1];
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  stage.peak_allocated_bytes += kGiB;
  stage.peak_reserved_bytes += kGiB;
  stage.peak_device_bytes += kGiB;
  stage.by_category[3].second += kGiB;  // weights
  b.traffic[0].count *= 2;
  b.traffic[0].elements *= 2;
  b.traffic[0].bytes *= 2;
  return b;
}

}  // namespace windtunnel
