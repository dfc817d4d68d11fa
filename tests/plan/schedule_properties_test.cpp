// What holds of every schedule and shape it does not refuse: all passes once and in order, no
// deadlock, the stated activations in flight and, at the costs it is made for, the stated idle
// time.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "tests/plan/schedule_sweep.h"

namespace windtunnel::schedules {
namespace {

using Kind = ScheduleAction::Kind;

constexpr int kMostRanks = 8, kMostMicroBatches = 24, kMostChunks = 3;
constexpr PassCosts kEven{
    .forward = 1, .backward = 2, .input_grad = 1, .weight_grad = 1, .pair = 3};

std::string place(const ScheduleRow& row, const ScheduleShape& s) {
  return std::string(row.name) + " p" + std::to_string(s.pp) + " m" +
         std::to_string(s.micro_batches) + " v" + std::to_string(s.virtual_stages) + " N" +
         std::to_string(s.micro_batch_group);
}

/// Every shape up to the largest that `row` runs.
void for_each_shape(const ScheduleRow& row,
                    const std::function<void(const ScheduleShape&)>& visit) {
  int shapes = 0;
  for (int p = 1; p <= kMostRanks; ++p) {
    for (int m = 1; m <= kMostMicroBatches; ++m) {
      for (int v = 1; v <= kMostChunks; ++v) {
        for (int group = 1; group <= m; ++group) {
          const bool grouped =
              row.kind == ScheduleKind::interleaved_1f1b || row.kind == ScheduleKind::zb_h1;
          if (group > 1 && !grouped) break;
          const ScheduleShape shape{
              .pp = p, .virtual_stages = v, .micro_batches = m, .micro_batch_group = group};
          if (refusal(row, shape)) continue;
          visit(shape);
          ++shapes;
        }
      }
    }
  }
  EXPECT_GT(shapes, 30) << row.name;
}

/// Passes of one chunk on one micro-batch, in the order its rank runs them.
std::map<std::pair<int, int>, std::vector<Kind>> passes(const PipelineLists& lists) {
  std::map<std::pair<int, int>, std::vector<Kind>> found;
  for (std::size_t r = 0; r < lists.ranks.size(); ++r) {
    for (const ScheduleAction& a : lists.ranks[r]) {
      const LocalChunk here{.rank = static_cast<int>(r), .chunk = a.chunk};
      const int global = global_chunk(lists.placement, lists.shape, here);
      EXPECT_EQ(local_chunk(lists.placement, lists.shape, global, a.micro_batch), here);
      found[{global, a.micro_batch}].push_back(a.kind);
    }
  }
  return found;
}

/// Chunks in flight on `rank`, as the schedule's header states them.
int stated_peak(ScheduleKind kind, const ScheduleShape& s, int rank) {
  const int passes = s.micro_batches * s.virtual_stages;
  const int wrap = (s.virtual_stages - 1) * s.micro_batch_group;
  switch (kind) {
    case ScheduleKind::gpipe:
    case ScheduleKind::bfs:
      return passes;
    case ScheduleKind::one_f_one_b:
      return std::min(s.pp - rank, passes);
    case ScheduleKind::interleaved_1f1b:
      return std::min(2 * (s.pp - rank - 1) + wrap + 1, passes);
    case ScheduleKind::zb_h1:
      return std::min(wrap + s.pp, passes);
    case ScheduleKind::zb_h2:
      return std::min(2 * s.pp - 1, passes);
    case ScheduleKind::zb_v:
      return std::min(2 * s.pp, passes);
    case ScheduleKind::dualpipe:
      return s.pp + 1;
    case ScheduleKind::dualpipe_v:
      return 2 * s.pp + 1;
  }
  return 0;
}

TEST(ScheduleProperties, EveryChunkRunsEveryMicroBatchOnceInOrder) {
  const std::vector<Kind> whole{Kind::forward, Kind::backward};
  const std::vector<Kind> split{Kind::forward, Kind::input_grad, Kind::weight_grad};
  for (const ScheduleRow& row : schedule_table()) {
    for_each_shape(row, [&](const ScheduleShape& shape) {
      const auto found = passes(lists_of(row, shape));
      const int expected = global_chunks(row.placement, shape) * shape.micro_batches;
      EXPECT_EQ(found.size(), static_cast<std::size_t>(expected)) << place(row, shape);
      for (const auto& [key, kinds] : found)
        EXPECT_TRUE(kinds == whole || kinds == split) << place(row, shape);
    });
  }
}

TEST(ScheduleProperties, OverlapsAreOfAForwardAndTheBackwardAfterIt) {
  for (const ScheduleRow& row : schedule_table()) {
    for_each_shape(row, [&](const ScheduleShape& shape) {
      for (const auto& list : lists_of(row, shape).ranks) {
        for (std::size_t i = 0; i < list.size(); ++i) {
          if (!list[i].overlaps_next) continue;
          ASSERT_LT(i + 1, list.size()) << place(row, shape);
          EXPECT_EQ(list[i].kind, Kind::forward) << place(row, shape);
          EXPECT_EQ(list[i + 1].kind, Kind::backward) << place(row, shape);
          EXPECT_NE(list[i].chunk, list[i + 1].chunk) << place(row, shape);
        }
      }
    });
  }
}

TEST(ScheduleProperties, NoneDeadlocksAndEachHasItsChunksInFlight) {
  for (const ScheduleRow& row : schedule_table()) {
    for_each_shape(row, [&](const ScheduleShape& shape) {
      const Sweep s = sweep(lists_of(row, shape), kEven);
      ASSERT_FALSE(s.deadlock) << place(row, shape);
      for (int r = 0; r < shape.pp; ++r) {
        const int peak = s.ranks[static_cast<std::size_t>(r)].peak;
        const int stated = stated_peak(row.kind, shape, r);
        // ZB-V of few micro-batches has fewer on its first ranks.
        const bool at_most =
            row.kind == ScheduleKind::zb_v && shape.micro_batches < 2 * shape.pp - 1;
        if (at_most)
          EXPECT_LE(peak, stated) << place(row, shape) << " rank " << r;
        else
          EXPECT_EQ(peak, stated) << place(row, shape) << " rank " << r;
      }
    });
  }
}

TEST(ScheduleProperties, IdleTimeEqualsItsFormula) {
  // Ticks a stage, of v chunks each takes 1/v: F 60, I 70, W 50, or what the schedule is made for.
  for (const ScheduleRow& row : schedule_table()) {
    using S = ScheduleKind;
    const bool zero_bubble = row.kind == S::zb_h2 || row.kind == S::zb_v;
    for (int p = 1; p <= kMostRanks; ++p) {
      for (const int v : {1, 2}) {
        const ScheduleShape shape{
            .pp = p, .virtual_stages = v, .micro_batches = 4 * p, .micro_batch_group = p};
        if (refusal(row, shape)) continue;
        const std::int64_t f = 60 / v, i = (zero_bubble ? 60 : 70) / v,
                           w = (zero_bubble ? 60 : 50) / v;
        const bool woven = row.kind == S::dualpipe || row.kind == S::dualpipe_v;
        const PassCosts costs =
            woven ? kEven
                  : PassCosts{.forward = f, .backward = i + w, .input_grad = i, .weight_grad = w};
        const Sweep s = sweep(lists_of(row, shape), costs);
        for (std::size_t r = 0; r < s.ranks.size(); ++r) {
          const std::string where = place(row, shape) + " rank " + std::to_string(r);
          if (zero_bubble) {
            EXPECT_EQ(s.ranks[r].last - s.ranks[r].first, s.ranks[r].busy) << where;
            EXPECT_EQ(s.ranks[r].first, f * static_cast<std::int64_t>(r)) << where;
            EXPECT_EQ(s.idle(r), f * (p - 1)) << where;
          } else if (woven) {
            const int turns = row.kind == S::dualpipe ? p / 2 - 1 : p - 1;
            EXPECT_EQ(s.idle(r), turns * (3 + 2 - 3)) << where;
          } else {
            const bool split = row.kind == S::zb_h1;
            EXPECT_EQ(s.idle(r), (p - 1) * (split ? f + i - w : f + i + w)) << where;
          }
        }
      }
    }
  }
}

/// Forwards before the first gradient of the schedules that have no warm-up of another definition.
TEST(ScheduleProperties, WarmUpIsTheForwardsBeforeTheFirstGradient) {
  const auto warm_up = [](ScheduleKind kind, const ScheduleShape& shape, int rank) {
    return schedule_row(kind).warm_up(shape, rank);
  };
  const ScheduleShape one{.pp = 4, .micro_batches = 8};
  const ScheduleShape two{.pp = 4, .virtual_stages = 2, .micro_batches = 8, .micro_batch_group = 4};
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(warm_up(ScheduleKind::gpipe, one, r), 8);
    EXPECT_EQ(warm_up(ScheduleKind::bfs, two, r), 16);
    EXPECT_EQ(warm_up(ScheduleKind::zb_h1, one, r), 4 - r);
    EXPECT_EQ(warm_up(ScheduleKind::zb_h1, two, r), 4 + 4 - r);
    EXPECT_EQ(warm_up(ScheduleKind::zb_h2, one, r), 2 * (4 - r) - 1);
    EXPECT_EQ(warm_up(ScheduleKind::zb_v, two, r), 8);
    // The turn of the V and the two middle ranks run one more forward before their first pair.
    EXPECT_EQ(warm_up(ScheduleKind::dualpipe_v, two, r), r == 3 ? 9 : 8);
    EXPECT_EQ(warm_up(ScheduleKind::dualpipe, one, r), r == 1 || r == 2 ? 5 : 4);
  }
}

}  // namespace
}  // namespace windtunnel::schedules
