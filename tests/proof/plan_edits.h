#pragma once
// What lists of plans change in a scenario.

#include "scenarios/scenario.h"

namespace windtunnel::proof {

struct Degrees {
  int tp = 1, pp = 1, cp = 1, dp = 1, ep = 1;
};

/// Sequence parallel where tensor parallel.
void set_degrees(Scenario& s, const Degrees& degrees);

/// ZeRO-1 in buckets of a few parameters, reduced and gathered beside the computation.
void zero1_overlapped(Scenario& s);

/// Megatron-Core of 2026.
void megatron_core(Scenario& s);

/// DeepSeek-V3's kind of experts, behind one dense layer.
void deepseek_experts(Scenario& s);

}  // namespace windtunnel::proof
