#include "sim/engine/completion.h"

#include "sim/engine/lane_costs.h"

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

void CompletionPool::grow() {
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

Completion* CompletionPool::resolve_inputs(Completion& completion) {
  if (completion.terms.missing > 0) return &completion;
  for (const CompletionRef& input : completion.inputs) {
    if (Completion* blocker = resolve(*input)) return blocker;
  }
  for (const CompletionRef& input : completion.inputs) {
    lane_math::raise_to(completion.start, input->end, lanes_);
  }
  lane_math::copy(completion.end, completion.start, lanes_);
  if (completion.terms.duration != nullptr) add_duration(completion);
  const LaneCount count{.lanes = lanes_, .draws = draws_};
  TransferEntry* shares = completion.terms.shares;
  if (shares != nullptr) note_usual(*shares, count, completion.start, completion.end);
  if (const NoiseSource& noise = completion.terms.noise; noise.costs != nullptr) {
    noise.costs->vary_transfer(noise.call, noise.op, completion.start, completion.end);
  }
  if (shares != nullptr) share_links(*shares, count, completion.start, completion.end);
  completion.terms.known = true;
  completion.inputs.clear();
  return nullptr;
}

void CompletionPool::add_duration(Completion& completion) const {
  if (completion.terms.slow != nullptr) {
    for (int lane = 0; lane < lanes_; ++lane) {
      completion.end[lane] +=
          scale_q16(completion.terms.duration[lane % draws_], completion.terms.slow[lane]);
    }
  } else if (draws_ == 1) {
    lane_math::add(completion.end, *completion.terms.duration, lanes_);
  } else {
    for (int first = 0; first < lanes_; first += draws_) {
      lane_math::add_each(completion.end + first, completion.terms.duration, draws_);
    }
  }
}

}  // namespace windtunnel
