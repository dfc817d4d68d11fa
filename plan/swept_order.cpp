#include "plan/swept_order.h"

#include <array>
#include <optional>
#include <utility>

#include "core/check.h"

namespace windtunnel {

namespace {

using Kind = ScheduleAction::Kind;

ChunkCall call_of(Kind kind) {
  switch (kind) {
    case Kind::forward:
      return ChunkCall::forward;
    case Kind::backward:
      return ChunkCall::backward;
    case Kind::input_grad:
      return ChunkCall::input_grad;
    case Kind::weight_grad:
      break;
  }
  return ChunkCall::weight_grad;
}

class Sweep {
 public:
  explicit Sweep(const PipelineOrder& order)
      : order_(order),
        row_(schedule_row(order.kind)),
        chunks_(global_chunks(row_.placement, order.shape)),
        ranks_(static_cast<std::size_t>(order.shape.pp)) {
    for (int r = 0; r < order.shape.pp; ++r) rank(r).actions = row_.actions(order.shape, r);
    const auto passes =
        static_cast<std::size_t>(chunks_) * static_cast<std::size_t>(order.shape.micro_batches);
    has_input_.assign(passes, false);
    has_grad_.assign(passes, false);
  }

  std::vector<std::vector<IssuedCall>> run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (int r = 0; r < order_.shape.pp; ++r) progress |= advance(r);
    }
    std::vector<std::vector<IssuedCall>> calls;
    for (Rank& rank : ranks_) {
      CHECK(rank.next == rank.actions.size(), "the schedule's actions have no cycle");
      for (std::optional<IssuedCall>& pending : rank.unfinished) finish(rank, pending);
      calls.push_back(std::move(rank.calls));
    }
    return calls;
  }

 private:
  /// Sends to one neighbour follow each other: the lower and the higher rank.
  enum Towards : std::uint8_t { kDown, kUp };

  struct Rank {
    std::vector<ScheduleAction> actions;
    std::size_t next = 0;
    std::vector<IssuedCall> calls;
    std::array<std::optional<IssuedCall>, 2> unfinished;  // last send, by Towards
  };

  Rank& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }

  std::size_t place_of(int global, int micro_batch) const {
    return static_cast<std::size_t>(global) * static_cast<std::size_t>(order_.shape.micro_batches) +
           static_cast<std::size_t>(micro_batch);
  }

  bool is_ready(const ScheduleAction& a, int global) const {
    if (a.kind == Kind::weight_grad) return true;
    if (a.kind == Kind::forward) return global == 0 || has_input_[place_of(global, a.micro_batch)];
    return global == chunks_ - 1 || has_grad_[place_of(global, a.micro_batch)];
  }

  /// Runs the rank's next action when its inputs have been sent.
  bool advance(int r) {
    Rank& own = rank(r);
    if (own.next == own.actions.size()) return false;
    // What is woven together starts and ends together: both inputs before, both sends after.
    const std::size_t end = own.next + (own.actions[own.next].overlaps_next ? 2 : 1);
    for (std::size_t i = own.next; i < end; ++i) {
      if (!is_ready(own.actions[i], global_of(r, own.actions[i]))) return false;
    }
    const std::size_t begin = std::exchange(own.next, end);
    for (std::size_t i = begin; i < end; ++i) {
      const ScheduleAction& a = own.actions[i];
      own.calls.push_back(
          {.call = call_of(a.kind), .chunk = a.chunk, .micro_batch = a.micro_batch});
    }
    for (std::size_t i = begin; i < end; ++i) pass_on(r, own.actions[i]);
    return true;
  }

  int global_of(int r, const ScheduleAction& a) const {
    return global_chunk(row_.placement, order_.shape, {.rank = r, .chunk = a.chunk});
  }

  /// Sends the action's result to the chunk that needs it, or hands it over on this rank.
  void pass_on(int r, const ScheduleAction& a) {
    const bool forward = a.kind == Kind::forward;
    const int to = global_of(r, a) + (forward ? 1 : -1);
    if (a.kind == Kind::weight_grad || to < 0 || to == chunks_) return;
    const LocalChunk peer = local_chunk(row_.placement, order_.shape, to, a.micro_batch);
    const IssuedCall send{.call = forward ? ChunkCall::send_output : ChunkCall::send_grad,
                          .chunk = a.chunk,
                          .micro_batch = a.micro_batch};
    if (peer.rank != r) {
      // Around the loop a forward goes up from the last rank to the first.
      const bool up = row_.placement == ChunkPlacement::loop ? forward : peer.rank > r;
      std::optional<IssuedCall>& pending = rank(r).unfinished[up ? kUp : kDown];
      finish(rank(r), pending);
      pending = send;
      rank(peer.rank).calls.push_back(
          {.call = forward ? ChunkCall::receive_input : ChunkCall::receive_grad,
           .chunk = static_cast<std::int16_t>(peer.chunk),
           .micro_batch = a.micro_batch});
    }
    rank(r).calls.push_back(send);
    (forward ? has_input_ : has_grad_)[place_of(to, a.micro_batch)] = true;
  }

  static void finish(Rank& rank, std::optional<IssuedCall>& pending) {
    if (!pending) return;
    const bool forward = pending->call == ChunkCall::send_output;
    pending->call = forward ? ChunkCall::finish_send_output : ChunkCall::finish_send_grad;
    rank.calls.push_back(*pending);
    pending.reset();
  }

  PipelineOrder order_;
  const ScheduleRow& row_;
  int chunks_;  // of the model
  std::vector<Rank> ranks_;
  std::vector<bool> has_input_, has_grad_;  // by global chunk and micro-batch: sent
};

}  // namespace

std::vector<std::vector<IssuedCall>> swept_orders(const PipelineOrder& order) {
  return Sweep(order).run();
}

}  // namespace windtunnel
