#include "plan/schedules/action_list.h"

#include <algorithm>

#include "core/check.h"

namespace windtunnel {

using Kind = ScheduleAction::Kind;

void ActionList::add(Kind kind, int chunk, int micro_batch) {
  actions_.push_back({.kind = kind,
                      .chunk = static_cast<std::int16_t>(chunk),
                      .micro_batch = static_cast<std::int32_t>(micro_batch)});
}

void ActionList::forward(int chunk) {
  add(Kind::forward, chunk, forwards_[static_cast<std::size_t>(chunk)]++);
}

void ActionList::backward(int chunk) {
  add(Kind::backward, chunk, next_backward(chunk));
}

void ActionList::input_grad(int chunk) {
  add(Kind::input_grad, chunk, next_backward(chunk));
  waiting_.push_back(actions_.back());
}

void ActionList::weight_grad(int chunk) {
  const auto oldest = std::find_if(waiting_.begin(), waiting_.end(),
                                   [&](const ScheduleAction& a) { return a.chunk == chunk; });
  CHECK(oldest != waiting_.end(), "a weight gradient follows its input gradient");
  add(Kind::weight_grad, chunk, oldest->micro_batch);
  waiting_.erase(oldest);
}

void ActionList::oldest_weight_grad() {
  CHECK(!waiting_.empty(), "a weight gradient follows its input gradient");
  weight_grad(waiting_.front().chunk);
}

void ActionList::forward_over_backward(int forward_chunk, int backward_chunk) {
  forward(forward_chunk);
  actions_.back().overlaps_next = true;
  backward(backward_chunk);
}

}  // namespace windtunnel
