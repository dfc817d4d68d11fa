#include "tests/closed_form/unit_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "program/schedule_grid.h"
#include "scenarios/loader.h"

namespace windtunnel::closed_form {

Scenario scenario_of(const std::string& text) {
  return load_scenarios_text(text, "closed_form.yaml").scenarios.at(0);
}

std::string small_model(int layers) {
  return fmt::format(
      "{{name: small, layers: {}, hidden: 64, ffn: 128, heads: 4, kv_heads: 2, vocab: 256, "
      "activation: swiglu}}",
      layers);
}

Scenario unit_scenario(const UnitPipeline& p) {
  std::string scales;
  for (const auto& [stage, factor] : p.stage_scale)
    scales += fmt::format("{}{}: {}", scales.empty() ? "" : ", ", stage, factor);
  std::string halves;
  if (p.weight_grad > 0) {
    halves =
        fmt::format(", I: \"{} s\", W: \"{} s\"", (p.backward - p.weight_grad) / p.virtual_stages,
                    p.weight_grad / p.virtual_stages);
  }
  std::string schedule = "kind: " + p.schedule;
  if (p.virtual_stages > 1) schedule += fmt::format(", virtual_stages: {}", p.virtual_stages);
  if (p.group > 0) schedule += fmt::format(", micro_batch_group: {}", p.group);
  return scenario_of(fmt::format(
      R"(id: unit_pipeline
model: {model}
cluster:
  device: unit
  devices_per_node: {pp}
  nodes: 1
  unit: {{layer: {{F: "{forward} s", B: "{backward} s"{halves}}}, hop: "{hop} s", stage_scale: {{{scales}}}}}
batch: {{global: {m}, micro: 1, sequence: 32}}
plan:
  pp: {pp}
  schedule: {{{schedule}}}
  recompute: {{kind: {recompute}}}
  overlap: {{pp: {asynchronous}}}
)",
      fmt::arg("model", small_model(p.pp * p.virtual_stages)), fmt::arg("pp", p.pp),
      fmt::arg("forward", p.forward / p.virtual_stages),
      fmt::arg("backward", p.backward / p.virtual_stages), fmt::arg("halves", halves),
      fmt::arg("hop", p.hop), fmt::arg("scales", scales), fmt::arg("m", p.micro_batches),
      fmt::arg("schedule", schedule), fmt::arg("recompute", p.recompute),
      fmt::arg("asynchronous", p.asynchronous)));
}

Simulation simulate_unit(const Scenario& scenario) {
  return simulate(scenario, {.draws = 0});
}

std::vector<int> peak_in_flight(const Program& program) {
  std::vector<int> peaks;
  for (const std::vector<GridPass>& passes : schedule_passes(program)) {
    int alive = 0, peak = 0;
    for (const GridPass& pass : passes) {
      if (!pass.backward) ++alive;
      // What an input gradient leaves for the weight gradient is given back by that.
      if (pass.makes_weight) --alive;
      peak = std::max(peak, alive);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace windtunnel::closed_form
