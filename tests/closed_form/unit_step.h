#pragma once
// Scenarios on device `unit` for the closed forms of pipelines, and what a simulated step of one
// says.
//
// A pipeline has one layer per chunk, so a stage's forward of F seconds is F / v per layer. Nothing
// but layers and hops costs time.

#include <map>
#include <string>
#include <vector>

#include "planning/simulate.h"

namespace windtunnel::closed_form {

/// The one scenario of a text. Throws InputError.
Scenario scenario_of(const std::string& text);

/// A dense Llama-style model of `layers` layers, small enough to lower at once; a YAML mapping.
std::string small_model(int layers);

struct UnitPipeline {
  std::string schedule = "1f1b";
  int pp = 1;
  int micro_batches = 1;
  int virtual_stages = 1;
  int group = 0;             // micro_batch_group; 0: left out
  double forward = 1.0;      // s, of one stage (its chunks together) for one micro-batch
  double backward = 2.0;     // s
  double weight_grad = 0.0;  // s of the backward; 0: not stated
  double hop = 0.0;          // s
  std::map<int, double> stage_scale = {};
  bool asynchronous = true;  // overlap.pp
  std::string recompute = "none";
};

Scenario unit_scenario(const UnitPipeline& pipeline);

/// Simulates without uncertainty draws.
Simulation simulate_unit(const Scenario& scenario);

/// Per pipeline rank: the most forwards of chunks whose backward has not run yet, counted along its
/// calls.
std::vector<int> peak_in_flight(const Program& program);

}  // namespace windtunnel::closed_form
