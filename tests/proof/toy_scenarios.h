#pragma once
// Models small enough to be executed by naive kernels, and the plans they are proven under.
//
// A `PlanCase` is a row: a name, a base scenario and what the plan changes in it. All run the same
// kernels and the same lowering as a scenario of 16,384 devices.

#include <string>
#include <vector>

#include "program/program.h"
#include "scenarios/scenario.h"

namespace windtunnel::proof {

/// GPT: LayerNorm, GELU, biases, learned positions, tied embeddings, dropout; 4 layers, hidden 16,
/// 4 heads, vocabulary 27, sequence 8, 16 sequences a step.
Scenario toy_gpt();

/// Llama: RMSNorm, SwiGLU, RoPE, 4 query heads on 2 key heads, no biases, untied.
Scenario toy_llama();

/// BLOOM: the GPT without dropout and positions, with ALiBi.
Scenario toy_bloom();

struct PlanCase {
  const char* name;
  Scenario (*base)();
  void (*change)(Scenario&);
};

const std::vector<PlanCase>& plan_cases();
/// The row of this name.
const PlanCase& plan_case(const std::string& name);

/// The scenario of a row; devices follow from its degrees.
Scenario scenario_of(const PlanCase& row);

struct Programs {
  Program plan, one_device;
};
Programs lower_both(const PlanCase& row);

}  // namespace windtunnel::proof
