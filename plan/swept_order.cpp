#include "plan/swept_order.h"

#include <array>
#include <optional>

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
    const ScheduleAction a = own.actions[own.next];
    const int global = global_chunk(row_.placement, order_.shape, {.rank = r, .chunk = a.chunk});
    if (!is_ready(a, global)) return false;
    ++own.next;
    own.calls.push_back({.call = call_of(a.kind), .chunk = a.chunk, .micro_batch = a.micro_batch});
    if (a.kind == Kind::forward && global + 1 < chunks_) pass_on(r, a, global + 1);
    if ((a.kind == Kind::backward || a.kind == Kind::input_grad) && global > 0)
      pass_on(r, a, global - 1);
    return true;
  }

  /// Sends the action's result to global chunk `to`, or hands it over on this rank.
  void pass_on(int r, const ScheduleAction& a, int to) {
    const bool forward = a.kind == Kind::forward;
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
