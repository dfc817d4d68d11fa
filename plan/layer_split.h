#pragma once
// How many layers each pipeline chunk gets when the scenario says `auto`.

#include <string>
#include <vector>

#include "plan/frameworks/framework.h"
#include "scenarios/scenario.h"

namespace windtunnel {

struct LayerSplitResult {
  std::vector<int> layers;  // one entry per chunk, in model order
  std::string rule;         // which rule gave it, for the report
};

/// Splits `model.layers` over `chunks` chunks by the framework's rule (docs/presets.md):
/// with multi-token prediction as many as go on all chunks but the last, which has the rest; equal;
/// embedding and head counted as one layer each when layers + 2 divide; leftovers one each
/// to chunks floor((n - r) / 2) onward; nanotron by cumulative cost. Precondition: chunks >= 1.
LayerSplitResult split_layers(const Model& model, int chunks, LayerSplit rule);

}  // namespace windtunnel
