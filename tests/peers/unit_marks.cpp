#include "tests/peers/unit_marks.h"

#include <utility>

namespace windtunnel::peers {

namespace {

/// Items [begin, end) of one unit in one direction, from its first to its last compute.
struct Run {
  std::size_t begin = 0, end = 0;
};

std::vector<Run> runs_of(const std::vector<MarkedItem>& items) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].unit.name.empty()) continue;
    const bool same = !runs.empty() && items[runs.back().begin].unit.name == items[i].unit.name &&
                      items[runs.back().begin].backward == items[i].backward;
    if (!same) runs.push_back({i, i});
    runs.back().end = i + 1;
  }
  return runs;
}

class Marker {
 public:
  Marker(const std::vector<MarkedItem>& items, Parts parts) : items_(items), parts_(parts) {}

  EventList lines() {
    std::size_t next = 0;
    for (const Run& run : runs_of(items_)) {
      copy(next, run.begin);
      mark_run(run);
      next = run.end;
    }
    copy(next, items_.size());
    return std::move(lines_);
  }

 private:
  void copy(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if (!items_[i].line.empty()) lines_.push_back(items_[i].line);
    }
  }

  void mark_run(const Run& run) {
    const MarkedItem& first = items_[run.begin];
    const std::string name = first.unit.name;
    const char* direction = first.backward ? "B" : "F";
    if (name == "loss") {
      if (parts_ == Parts::layer_parts && !first.backward) lines_.push_back("F> loss");
      copy(run.begin, run.end);
      return;
    }
    lines_.push_back(direction + ("> " + name));
    if (first.recompute) lines_.push_back("F> " + name);
    if (parts_ == Parts::layer_parts)
      mark_parts(run, direction);
    else
      copy(run.begin, run.end);
    if (!(first.backward && name == "embedding")) lines_.push_back(direction + ("< " + name));
  }

  /// A part is a stretch between norms and residuals that multiplies matrices.
  void mark_parts(const Run& run, const std::string& direction) {
    std::size_t i = run.begin;
    while (i < run.end) {
      std::size_t end = i;
      std::string part;
      while (end < run.end && !items_[end].unit.outside) {
        if (!items_[end].unit.part.empty()) part = items_[end].unit.part;
        ++end;
      }
      const std::string name = items_[run.begin].unit.name + part;
      if (!part.empty()) lines_.push_back(std::string(direction).append("> ").append(name));
      copy(i, end);
      if (!part.empty()) lines_.push_back(std::string(direction).append("< ").append(name));
      while (end < run.end && items_[end].unit.outside) ++end;
      i = end;
    }
  }

  const std::vector<MarkedItem>& items_;
  Parts parts_;
  EventList lines_;
};

}  // namespace

ComputeUnit compute_unit(const Op& op) {
  const std::string layer = op.layer >= 0 ? "layers." + std::to_string(op.layer) : "";
  switch (op.module) {
    case Module::embedding:
      return {.name = "embedding"};
    case Module::norm:
      return {.name = op.layer >= 0 ? layer : "norm", .outside = op.layer >= 0};
    case Module::residual:
      return {.name = layer, .outside = true};
    case Module::attention:
    case Module::core_attention:
      return {.name = layer, .part = ".attention"};
    case Module::mlp:
    case Module::activation:
      return {.name = layer, .part = ".mlp"};
    case Module::head:
      return {.name = "head"};
    case Module::loss:
      return {.name = "loss"};
    case Module::none:  // a collective inside a layer
      return {.name = layer};
    default:
      return {};
  }
}

EventList with_unit_marks(const std::vector<MarkedItem>& items, Parts parts) {
  return Marker(items, parts).lines();
}

}  // namespace windtunnel::peers
