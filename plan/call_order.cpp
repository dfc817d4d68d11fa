#include "plan/call_order.h"

#include <algorithm>
#include <limits>

#include "core/check.h"
#include "plan/swept_order.h"

namespace windtunnel {

namespace {

using Kind = ScheduleAction::Kind;

bool is_receive(const IssuedCall& c) {
  return c.call == ChunkCall::receive_input || c.call == ChunkCall::receive_grad;
}

bool carries_activation(const IssuedCall& c) {
  return c.call == ChunkCall::receive_input || c.call == ChunkCall::send_output;
}

/// Actions that run without a transfer between them: one, or a steady-state pair of interleaving.
struct Unit {
  std::size_t begin = 0, end = 0;
};

class Issue {
 public:
  Issue(const PipelineOrder& order, int rank) : order_(order), rank_(rank) {
    const ScheduleRow& row = schedule_row(order.kind);
    actions_ = row.actions(order.shape, rank);
    const int warm_up = row.warm_up(order.shape, rank);
    std::size_t i = 0;
    const bool pairs = !order.asynchronous && order.kind == ScheduleKind::interleaved_1f1b;
    while (i < actions_.size()) {
      const bool steady = static_cast<int>(i) >= warm_up && i + 1 < actions_.size() &&
                          actions_[i].kind == Kind::forward;
      const std::size_t end = pairs && steady ? i + 2 : i + 1;
      units_.push_back({i, end});
      i = end;
    }
    index_actions();
  }

  std::vector<IssuedCall> run() {
    schedule_receives();
    return order_.asynchronous ? asynchronous() : blocking();
  }

 private:
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  int global_chunk(const ScheduleAction& a) const { return a.chunk * order_.shape.pp + rank_; }
  bool receives(const ScheduleAction& a) const {
    const int g = global_chunk(a), last = order_.shape.pp * order_.shape.virtual_stages - 1;
    return a.kind == Kind::forward ? g > 0 : g < last;
  }
  bool sends(const ScheduleAction& a) const {
    const int g = global_chunk(a), last = order_.shape.pp * order_.shape.virtual_stages - 1;
    return a.kind == Kind::forward ? g < last : g > 0;
  }
  /// Whether the input comes around the ring: from the last rank (forward) or the first (backward).
  bool wraps(const ScheduleAction& a) const {
    return order_.shape.pp > 1 &&
           (a.kind == Kind::forward ? rank_ == 0 : rank_ == order_.shape.pp - 1);
  }

  std::size_t place_of(bool forward, int chunk, int micro_batch) const {
    const int direction = forward ? 1 : 0;
    return static_cast<std::size_t>(direction * order_.shape.virtual_stages + chunk) *
               static_cast<std::size_t>(order_.shape.micro_batches) +
           static_cast<std::size_t>(micro_batch);
  }

  void index_actions() {
    position_.assign(place_of(true, order_.shape.virtual_stages, 0), kNowhere);
    unit_of_.resize(actions_.size());
    for (std::size_t u = 0; u < units_.size(); ++u) {
      for (std::size_t i = units_[u].begin; i < units_[u].end; ++i) unit_of_[i] = u;
    }
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      auto& list = actions_[i].kind == Kind::forward ? forwards_ : backwards_;
      position_[place_of(actions_[i].kind == Kind::forward, actions_[i].chunk,
                         actions_[i].micro_batch)] = list.size();
      list.push_back(i);
    }
  }

  /// For every receive, the unit before which it is posted.
  void schedule_receives() {
    posted_before_.resize(units_.size());
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      const ScheduleAction& a = actions_[i];
      if (!receives(a)) continue;
      std::size_t unit = unit_of_[i];
      if (order_.asynchronous && unit > 0) --unit;
      if (wraps(a)) unit = std::min(unit, wrap_unit(a));
      posted_before_[unit].push_back(i);
    }
  }

  /// The sender runs the producing action p - 1 steps of its direction after this rank does.
  std::size_t wrap_unit(const ScheduleAction& a) const {
    const bool forward = a.kind == Kind::forward;
    const int producer = forward ? a.chunk - 1 : a.chunk + 1;
    CHECK(producer >= 0 && producer < order_.shape.virtual_stages,
          "the ring's producer is a chunk of this rank's schedule too");
    const std::size_t position = position_[place_of(forward, producer, a.micro_batch)];
    CHECK(position != kNowhere, "the schedule runs every chunk on every micro-batch");
    const std::vector<std::size_t>& list = forward ? forwards_ : backwards_;
    const std::size_t lead =
        static_cast<std::size_t>(order_.shape.pp - (order_.asynchronous ? 1 : 0));
    return unit_of_[list[std::min(position + lead, list.size() - 1)]];
  }

  void compute(std::vector<IssuedCall>& calls, std::size_t i) const {
    calls.push_back(
        {.call = actions_[i].kind == Kind::forward ? ChunkCall::forward : ChunkCall::backward,
         .chunk = actions_[i].chunk,
         .micro_batch = actions_[i].micro_batch});
  }
  IssuedCall receive(std::size_t i) const {
    return {.call = actions_[i].kind == Kind::forward ? ChunkCall::receive_input
                                                      : ChunkCall::receive_grad,
            .chunk = actions_[i].chunk,
            .micro_batch = actions_[i].micro_batch};
  }
  IssuedCall send(std::size_t i) const {
    return {
        .call = actions_[i].kind == Kind::forward ? ChunkCall::send_output : ChunkCall::send_grad,
        .chunk = actions_[i].chunk,
        .micro_batch = actions_[i].micro_batch};
  }

  std::vector<IssuedCall> blocking() const {
    std::vector<IssuedCall> calls;
    for (std::size_t u = 0; u <= units_.size(); ++u) {
      std::vector<IssuedCall> batch;
      if (u > 0) {
        for (std::size_t i = units_[u - 1].begin; i < units_[u - 1].end; ++i) {
          if (sends(actions_[i])) batch.push_back(send(i));
        }
      }
      if (u < units_.size()) {
        for (const std::size_t i : posted_before_[u]) batch.push_back(receive(i));
      }
      if (order_.batched) {
        // What is received has its memory before what is sent gives its own back: both are in use
        // until the batch has ended (Megatron-LM p2p_communication.py, _communicate).
        std::stable_partition(batch.begin(), batch.end(), is_receive);
        for (std::size_t i = 1; i < batch.size(); ++i) batch[i].grouped = true;
      } else {
        // One by one, activations before gradients: the order both neighbours keep.
        std::stable_partition(batch.begin(), batch.end(), carries_activation);
      }
      if (!batch.empty()) batch.back().ends_batch = true;
      calls.insert(calls.end(), batch.begin(), batch.end());
      if (u == units_.size()) break;
      for (std::size_t i = units_[u].begin; i < units_[u].end; ++i) compute(calls, i);
    }
    return calls;
  }

  std::vector<IssuedCall> asynchronous() const {
    std::vector<IssuedCall> calls;
    std::vector<IssuedCall> pending(2);  // last send of each direction, not yet waited for
    std::vector<bool> waiting(2, false);
    auto finish = [&](std::size_t direction) {
      if (!waiting[direction]) return;
      IssuedCall done = pending[direction];
      done.call = direction == 0 ? ChunkCall::finish_send_output : ChunkCall::finish_send_grad;
      calls.push_back(done);
      waiting[direction] = false;
    };
    for (std::size_t u = 0; u < units_.size(); ++u) {
      for (const std::size_t i : posted_before_[u]) calls.push_back(receive(i));
      const std::size_t i = units_[u].begin;
      compute(calls, i);
      if (!sends(actions_[i])) continue;
      const std::size_t direction = actions_[i].kind == Kind::forward ? 0 : 1;
      finish(direction);
      pending[direction] = send(i);
      waiting[direction] = true;
      calls.push_back(pending[direction]);
    }
    finish(0);
    finish(1);
    return calls;
  }

  PipelineOrder order_;
  int rank_;
  std::vector<ScheduleAction> actions_;
  std::vector<Unit> units_;
  std::vector<std::size_t> unit_of_;
  std::vector<std::size_t> forwards_, backwards_;  // action indices, in order
  std::vector<std::size_t> position_;              // in those lists; by place_of()
  std::vector<std::vector<std::size_t>> posted_before_;
};

}  // namespace

std::vector<IssuedCall> issue_order(const PipelineOrder& order, int rank) {
  return Issue(order, rank).run();
}

bool is_swept(ScheduleKind kind) {
  return kind != ScheduleKind::gpipe && kind != ScheduleKind::one_f_one_b &&
         kind != ScheduleKind::interleaved_1f1b;
}

std::vector<std::vector<IssuedCall>> issue_orders(const PipelineOrder& order) {
  if (is_swept(order.kind)) return swept_orders(order);
  std::vector<std::vector<IssuedCall>> calls;
  for (int rank = 0; rank < order.shape.pp; ++rank) calls.push_back(issue_order(order, rank));
  return calls;
}

}  // namespace windtunnel
