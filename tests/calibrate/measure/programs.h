#pragma once
// Lowered programs that between them hold most kernels there are.

#include <string>
#include <vector>

#include "planning/simulate.h"
#include "scenarios/loader.h"

namespace windtunnel {

inline Program lowered(const std::string& model, const std::string& plan, int devices) {
  const std::string text =
      "model: {layers: 4, hidden: 32, ffn: 64, heads: 4, vocab: 96, " + model +
      "}\ncluster: {device: cpu, devices_per_node: " + std::to_string(devices) +
      ", nodes: 1}\nbatch: {global: 8, micro: 2, sequence: 16}\nplan: {precision: {compute: "
      "fp32}, " +
      plan + "}\n";
  return lower_scenario(load_scenarios_text(text, "test.yaml").scenarios.front()).program;
}

inline std::vector<Program> many_programs() {
  return {
      lowered("activation: gelu", "pp: 2, schedule: {kind: 1f1b}", 2),
      lowered("activation: swiglu, kv_heads: 2", "tp: 2, sequence_parallel: true", 2),
      lowered("activation: gelu, dropout: true", "attention: unfused, dp: 2", 2),
      lowered("activation: relu2, position: alibi", "attention: unfused, tp: 2", 2),
      lowered("activation: geglu, tied_embeddings: true",
              "pp: 2, dp: 2, sharding: {kind: zero1}, recompute: {kind: full}", 4),
      lowered("activation: swiglu, bias: true, dropout: true", "tp: 2, dp: 2", 4),
  };
}

}  // namespace windtunnel
