#pragma once
// The list of actions of one rank while it is written: a schedule names the chunk, the list knows
// the micro-batch. Every chunk takes its micro-batches in ascending order, forwards and backwards
// each, and weight gradients in the order of the input gradients they belong to.

#include <deque>
#include <utility>
#include <vector>

#include "plan/schedules/schedule.h"

namespace windtunnel {

class ActionList {
 public:
  explicit ActionList(int chunks)
      : forwards_(static_cast<std::size_t>(chunks)), backwards_(static_cast<std::size_t>(chunks)) {}

  void forward(int chunk);
  void backward(int chunk);
  void input_grad(int chunk);
  /// Of the oldest input gradient of `chunk` that waits for it.
  void weight_grad(int chunk);
  /// Of the oldest input gradient of any chunk that waits for it.
  void oldest_weight_grad();
  /// A forward and a backward, woven together.
  void forward_over_backward(int forward_chunk, int backward_chunk);

  std::vector<ScheduleAction> take() { return std::move(actions_); }

 private:
  void add(ScheduleAction::Kind kind, int chunk, int micro_batch);
  int next_backward(int chunk) { return backwards_[static_cast<std::size_t>(chunk)]++; }

  std::vector<ScheduleAction> actions_;
  std::vector<int> forwards_, backwards_;  // taken so far, by chunk
  std::deque<ScheduleAction> waiting_;     // input gradients without their weight gradient
};

}  // namespace windtunnel
