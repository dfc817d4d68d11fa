// Does every rank run the actions that torch.distributed.pipelining lists, in their order?

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "plan/resolve.h"
#include "plan/schedules/schedule.h"
#include "tests/peers/named_differences.h"
#include "tests/peers/recordings.h"
#include "tests/peers/schedule_cases.h"

namespace windtunnel::peers {
namespace {

/// The actions of a rank as PyTorch writes them: "4F0", "(0F7;7B3)OVERLAP_F_B".
EventList lowered_list(ScheduleKind kind, const ScheduleShape& shape, int rank) {
  const ScheduleRow& row = schedule_row(kind);
  EventList list;
  std::string woven;  // a forward whose backward comes next
  for (const ScheduleAction& a : row.actions(shape, rank)) {
    const int stage = global_chunk(row.placement, shape, {.rank = rank, .chunk = a.chunk});
    const std::string action =
        fmt::format("{}{}{}", stage, "FBIW"[static_cast<int>(a.kind)], a.micro_batch);
    if (a.overlaps_next) {
      woven = action;
    } else if (!woven.empty()) {
      list.push_back(fmt::format("({};{})OVERLAP_F_B", woven, action));
      woven.clear();
    } else {
      list.push_back(action);
    }
  }
  return list;
}

/// Without idle slots.
EventList recorded_list(const std::string& text) {
  EventList list;
  std::stringstream in(text);
  for (std::string action; in >> action;) {
    if (action != ".") list.push_back(action);
  }
  return list;
}

/// Micro-batches a chunk runs in a row under PyTorch's rules.
int micro_batch_group(const ScheduleShape& shape) {
  if (shape.virtual_stages == 1) return shape.pp;
  Scenario s;
  s.model = {.layers = std::int64_t{shape.pp} * shape.virtual_stages,
             .hidden = 8,
             .ffn = 8,
             .heads = 1,
             .kv_heads = 1,
             .head_dim = 8,
             .vocab = 8};
  s.stack.framework = "pytorch";
  s.cluster.device = "h100";
  s.cluster.devices_per_node = s.cluster.nvlink_domain = s.plan.pp = shape.pp;
  s.batch = {.global = shape.micro_batches, .micro = 1, .sequence = 8};
  s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b,
                     .virtual_stages = shape.virtual_stages};
  return resolve(s).plan.micro_batch_group;
}

class PeerSchedules : public testing::TestWithParam<const char*> {};

TEST_P(PeerSchedules, ListTheActionsOfPyTorch) {
  const Json file = load_recording(GetParam());
  for (const auto& [name, recorded] : file.at("schedules").items()) {
    const auto row = std::ranges::find_if(schedule_cases(), [&](const ScheduleCase& c) {
      return recorded.at("schedule") == c.recorded;
    });
    ASSERT_NE(row, schedule_cases().end()) << name;
    ScheduleShape shape{.pp = recorded.at("ranks"),
                        .virtual_stages = recorded.at("stages_per_rank"),
                        .micro_batches = recorded.at("micro_batches")};
    shape.micro_batch_group = micro_batch_group(shape);
    EXPECT_FALSE(refusal(schedule_row(row->kind), shape)) << name;
    for (int rank = 0; rank < shape.pp; ++rank) {
      EventList expected = recorded_list(recorded.at("compute").at(std::to_string(rank)));
      const RankContext at{.ranks = shape.pp, .has_loss = rank == shape.pp - 1};
      for (const char* difference : row->differences)
        expected = named_difference(difference).apply(std::move(expected), at);
      EXPECT_EQ(fmt::format("{}", fmt::join(expected, " ")),
                fmt::format("{}", fmt::join(lowered_list(row->kind, shape, rank), " ")))
          << name << ", rank " << rank;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, PeerSchedules,
                         testing::Values("pipeline_lists_1f1b", "pipeline_lists_zero_bubble",
                                         "pipeline_lists_dualpipev"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace windtunnel::peers
