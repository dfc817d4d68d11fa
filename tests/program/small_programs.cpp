#include "tests/program/small_programs.h"

#include <stdexcept>

#include "plan/lower.h"
#include "plan/resolve.h"
#include "scenarios/loader.h"

namespace windtunnel {

namespace {

constexpr const char* kScenarios = R"(
name: small programs
source: none
defaults:
  model: {name: toy, layers: 8, hidden: 64, ffn: 256, heads: 4, vocab: 512}
  cluster:
    device: a100-sxm-80gb
    devices_per_node: 8
    nodes: 1
    network: {nics_per_node: 8, nic_bandwidth: "200 Gbit/s", latency: "2 us", kind: ib}
  batch: {global: 8, micro: 1, sequence: 16}
scenarios:
  - {id: dp, plan: {}, batch: {global: 16}}
  - {id: offload, plan: {offload: {optimizer: 0.5, overlap: true}}, batch: {global: 16}}
  - {id: tp, plan: {tp: 2, pp: 2, sequence_parallel: true}}
  - {id: tp_no_sp, plan: {tp: 2, pp: 2, sequence_parallel: false}}
  - {id: full, plan: {tp: 2, pp: 2, sequence_parallel: true, recompute: {kind: full}}}
  - {id: gpipe, plan: {pp: 4, schedule: {kind: gpipe}}}
  - {id: 1f1b, plan: {pp: 4}}
  - id: interleaved
    plan: {pp: 4, schedule: {kind: interleaved_1f1b, virtual_stages: 2}}
  - id: asynchronous
    plan: {pp: 4, schedule: {kind: interleaved_1f1b, virtual_stages: 2}, overlap: {pp: true}}
  - id: overlapped
    stack: {framework: megatron-lm, version: core_r0.8, date: 2024-07}
    plan:
      preset: megatron
      tp: 2
      pp: 2
      sequence_parallel: true
      sharding: {kind: zero1, overlap_grad_reduce: true, overlap_param_gather: true, bucket: 30000}
      overlap: {pp: true}
  - id: tied
    model: {name: toy, layers: 4, hidden: 64, ffn: 256, heads: 4, vocab: 512, tied_embeddings: true}
    plan: {pp: 4}
  - id: zero_layers
    model: {name: toy, layers: 3, hidden: 64, ffn: 256, heads: 4, vocab: 512}
    plan: {pp: 4, schedule: {kind: 1f1b, layers_per_stage: [1, 0, 1, 1]}}
  - id: two_copies
    batch: {global: 32}
    plan: {pp: 4, schedule: {kind: dualpipe}}
  - id: large
    plan: {pp: 4, schedule: {kind: interleaved_1f1b, virtual_stages: 2}, overlap: {pp: true}}
    batch: {global: 1536}
)";

}  // namespace

std::vector<std::string> small_program_names() {
  std::vector<std::string> names;
  for (const Scenario& s : load_scenarios_text(kScenarios, "small_programs.yaml").scenarios)
    names.push_back(s.id);
  return names;
}

Program small_program(const std::string& name) {
  for (const Scenario& s : load_scenarios_text(kScenarios, "small_programs.yaml").scenarios) {
    if (s.id == name) return lower(resolve(s));
  }
  throw std::logic_error("no small program " + name);
}

}  // namespace windtunnel
