#include "tests/plan/schedule_sweep.h"

#include <algorithm>
#include <optional>
#include <span>

namespace windtunnel::schedules {

namespace {

using Kind = ScheduleAction::Kind;

class Run {
 public:
  Run(const PipelineLists& lists, const PassCosts& costs)
      : lists_(lists),
        costs_(costs),
        chunks_(global_chunks(lists.placement, lists.shape)),
        ends_(static_cast<std::size_t>(3 * chunks_ * lists.shape.micro_batches)) {}

  Sweep run() {
    const std::size_t ranks = lists_.ranks.size();
    Sweep result{.ranks = std::vector<RankSweep>(ranks)};
    std::vector<std::size_t> next(ranks, 0);
    in_flight_.assign(ranks, 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < ranks; ++r) {
        while (const std::size_t ran = step(r, next[r], result.ranks[r])) {
          next[r] += ran;
          moved = true;
        }
      }
    }
    for (std::size_t r = 0; r < ranks; ++r) {
      result.deadlock |= next[r] < lists_.ranks[r].size();
      result.makespan = std::max(result.makespan, result.ranks[r].last);
    }
    return result;
  }

 private:
  /// The end of a pass of a global chunk; both kinds of backward share one place.
  std::optional<std::int64_t>& end_of(Kind kind, int global, int micro_batch) {
    const int pass = kind == Kind::forward ? 0 : kind == Kind::weight_grad ? 2 : 1;
    return ends_[static_cast<std::size_t>((pass * chunks_ + global) * lists_.shape.micro_batches +
                                          micro_batch)];
  }

  int global(std::size_t rank, const ScheduleAction& a) const {
    return global_chunk(lists_.placement, lists_.shape,
                        {.rank = static_cast<int>(rank), .chunk = a.chunk});
  }

  /// When what the action waits for has ended; nothing while some of it has not run.
  std::optional<std::int64_t> ready(std::size_t rank, const ScheduleAction& a) {
    const int g = global(rank, a), k = a.micro_batch;
    if (a.kind == Kind::weight_grad) return end_of(Kind::input_grad, g, k);
    if (a.kind == Kind::forward) return g == 0 ? 0 : end_of(Kind::forward, g - 1, k);
    const auto own = end_of(Kind::forward, g, k);
    if (g == chunks_ - 1 || !own) return own;
    const auto after = end_of(Kind::backward, g + 1, k);
    return after ? std::optional(std::max(*own, *after)) : std::nullopt;
  }

  std::int64_t cost(std::span<const ScheduleAction> actions) const {
    if (actions.size() == 2) return costs_.pair;
    switch (actions[0].kind) {
      case Kind::forward:
        return costs_.forward;
      case Kind::backward:
        return costs_.backward;
      case Kind::input_grad:
        return costs_.input_grad;
      case Kind::weight_grad:
        return costs_.weight_grad;
    }
    return 0;
  }

  /// Runs the rank's action or pair at `at`: how many actions ran.
  std::size_t step(std::size_t rank, std::size_t at, RankSweep& state) {
    const std::vector<ScheduleAction>& list = lists_.ranks[rank];
    if (at == list.size()) return 0;
    const std::size_t count = list[at].overlaps_next && at + 1 < list.size() ? 2 : 1;
    const auto actions = std::span(list).subspan(at, count);
    std::int64_t start = state.last;
    for (const ScheduleAction& a : actions) {
      const auto when = ready(rank, a);
      if (!when) return 0;
      start = std::max(start, *when);
    }
    const std::int64_t took = cost(actions);
    if (at == 0) state.first = start;
    state.last = start + took;
    state.busy += took;
    count_chunks(rank, actions, state);
    for (const ScheduleAction& a : actions)
      end_of(a.kind, global(rank, a), a.micro_batch) = state.last;
    return count;
  }

  void count_chunks(std::size_t rank, std::span<const ScheduleAction> actions, RankSweep& state) {
    for (const ScheduleAction& a : actions) in_flight_[rank] += a.kind == Kind::forward;
    state.peak = std::max(state.peak, in_flight_[rank]);
    for (const ScheduleAction& a : actions)
      in_flight_[rank] -= a.kind == Kind::backward || a.kind == Kind::weight_grad;
  }

  const PipelineLists& lists_;
  PassCosts costs_;
  int chunks_;
  std::vector<std::optional<std::int64_t>> ends_;
  std::vector<int> in_flight_;
};

}  // namespace

PipelineLists lists_of(const ScheduleRow& row, const ScheduleShape& shape) {
  PipelineLists lists{.placement = row.placement, .shape = shape, .ranks = {}};
  for (int rank = 0; rank < shape.pp; ++rank) lists.ranks.push_back(row.actions(shape, rank));
  return lists;
}

Sweep sweep(const PipelineLists& lists, const PassCosts& costs) {
  return Run(lists, costs).run();
}

}  // namespace windtunnel::schedules
