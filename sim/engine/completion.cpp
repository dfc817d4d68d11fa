#include "sim/engine/completion.h"

#include <algorithm>

#include "sim/engine/lane_math.h"

namespace windtunnel {

namespace {

/// Nodes whose times share one allocation.
constexpr std::size_t kNodesPerBlock = 64;

}  // namespace

CompletionPool::CompletionPool(const LaneGrid& grid) : lanes_(grid.lanes()), draws_(grid.draws) {}

CompletionPool::~CompletionPool() {
  // Inputs point at nodes of this pool: let go of them while every node still stands.
  for (Completion& node : nodes_) node.inputs.clear();
}

CompletionRef CompletionPool::make() {
  if (free_.empty()) {
    const std::size_t lanes = static_cast<std::size_t>(lanes_);
    if (nodes_.size() % kNodesPerBlock == 0) {
      times_.push_back(std::make_unique_for_overwrite<Picoseconds[]>(3 * lanes * kNodesPerBlock));
    }
    Picoseconds* times = times_.back().get() + 3 * lanes * (nodes_.size() % kNodesPerBlock);
    Completion& node = nodes_.emplace_back();
    node.start = times;
    node.end = times + lanes;
    node.arrival = times + 2 * lanes;
    node.pool = this;
    free_.push_back(&node);
  }
  Completion* node = free_.back();
  free_.pop_back();
  std::fill_n(node->start, lanes_, 0);
  return CompletionRef(node);
}

CompletionRef CompletionPool::make_at(const Picoseconds* time) {
  CompletionRef made = make();
  std::copy_n(time, lanes_, made->start);
  std::copy_n(time, lanes_, made->end);
  made->known = true;
  return made;
}

Completion* CompletionPool::resolve_inputs(Completion& completion) {
  if (completion.missing > 0) return &completion;
  for (const CompletionRef& input : completion.inputs) {
    if (Completion* blocker = resolve(*input)) return blocker;
  }
  for (const CompletionRef& input : completion.inputs) {
    lane_math::raise_to(completion.start, input->end, lanes_);
  }
  std::copy_n(completion.start, lanes_, completion.end);
  if (completion.duration != nullptr) add_duration(completion);
  completion.known = true;
  completion.inputs.clear();
  return nullptr;
}

void CompletionPool::add_duration(Completion& completion) const {
  if (completion.slow != nullptr) {
    for (int lane = 0; lane < lanes_; ++lane) {
      completion.end[lane] += scale_q16(completion.duration[lane % draws_], completion.slow[lane]);
    }
  } else if (draws_ == 1) {
    lane_math::add(completion.end, *completion.duration, lanes_);
  } else {
    for (int first = 0; first < lanes_; first += draws_) {
      lane_math::add_each(completion.end + first, completion.duration, draws_);
    }
  }
}

void CompletionPool::recycle(Completion* completion) {
  completion->inputs.clear();
  completion->duration = nullptr;
  completion->slow = nullptr;
  completion->charges = {};
  completion->transfer = TransferKind::count;
  completion->known = false;
  completion->has_arrival = false;
  completion->slowed = 0;
  completion->source = -1;
  completion->destination = -1;
  completion->comm = 0;
  completion->priced_by = -1;
  completion->missing = 0;
  completion->waiter = -1;
  free_.push_back(completion);
}

}  // namespace windtunnel
