#pragma once
// Where the compute of each unit of the model begins and ends among the other lines.

#include <string>
#include <vector>

#include "program/program.h"
#include "tests/peers/event_list.h"

namespace windtunnel::peers {

/// What a kernel or a collective inside a layer computes for; `name` is empty for what has no mark.
struct ComputeUnit {
  std::string name;      // "layers.0", "embedding", "norm", "head", "loss"
  std::string part;      // ".attention", ".mlp": the matrix products between norm and residual
  bool outside = false;  // a layer's norm or residual: between its parts

  friend bool operator==(const ComputeUnit&, const ComputeUnit&) = default;
};
ComputeUnit compute_unit(const Op& op);

/// One line (empty: none) and, of compute, its unit.
struct MarkedItem {
  std::string line;
  ComputeUnit unit = {};
  bool backward = false, recompute = false;
  bool batched = false;
};

enum class Parts : unsigned char { layers, layer_parts };

/// The lines with the marks. Recorded marks that have no counterpart are left out: the backward of
/// the embedding has no end (tokens have no gradient), nor has what is computed again; the loss has
/// a mark of its forward's begin alone, where parts are marked.
EventList with_unit_marks(const std::vector<MarkedItem>& items, Parts parts);

}  // namespace windtunnel::peers
