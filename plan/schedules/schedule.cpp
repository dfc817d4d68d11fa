#include "plan/schedules/schedule.h"

#include <algorithm>
#include <array>

#include "core/check.h"
#include "plan/schedules/bfs.h"
#include "plan/schedules/dualpipe.h"
#include "plan/schedules/dualpipe_v.h"
#include "plan/schedules/gpipe.h"
#include "plan/schedules/interleaved_1f1b.h"
#include "plan/schedules/one_f_one_b.h"
#include "plan/schedules/zb_h1.h"
#include "plan/schedules/zb_h2.h"
#include "plan/schedules/zb_v.h"

namespace windtunnel {

namespace {

/// Forwards before the first action of another kind.
template <auto actions>
int leading_forwards(const ScheduleShape& shape, int rank) {
  const std::vector<ScheduleAction> list = actions(shape, rank);
  const auto other = std::find_if(list.begin(), list.end(), [](const ScheduleAction& a) {
    return a.kind != ScheduleAction::Kind::forward;
  });
  return static_cast<int>(other - list.begin());
}

constexpr std::array kSchedules = {
    ScheduleRow{.kind = ScheduleKind::gpipe,
                .name = "gpipe",
                .doc = "all forwards, then all backwards (Huang et al. 2019)",
                .placement = ChunkPlacement::loop,
                .fixed_virtual_stages = 1,
                .actions = gpipe_actions,
                .warm_up = gpipe_warm_up,
                .refuses = nullptr},
    ScheduleRow{.kind = ScheduleKind::one_f_one_b,
                .name = "1f1b",
                .doc = "one forward, one backward (Narayanan et al. 2021)",
                .placement = ChunkPlacement::loop,
                .fixed_virtual_stages = 1,
                .actions = one_f_one_b_actions,
                .warm_up = one_f_one_b_warm_up,
                .refuses = nullptr},
    ScheduleRow{.kind = ScheduleKind::interleaved_1f1b,
                .name = "interleaved_1f1b",
                .doc = "1F1B over v chunks per rank (Narayanan et al. 2021)",
                .placement = ChunkPlacement::loop,
                .fixed_virtual_stages = 0,
                .actions = interleaved_1f1b_actions,
                .warm_up = interleaved_1f1b_warm_up,
                .refuses = interleaved_1f1b_refuses},
    ScheduleRow{.kind = ScheduleKind::bfs,
                .name = "bfs",
                .doc = "a chunk runs all micro-batches before the next chunk (Lamy-Poirier 2022)",
                .placement = ChunkPlacement::loop,
                .fixed_virtual_stages = 0,
                .actions = bfs_actions,
                .warm_up = leading_forwards<bfs_actions>,
                .refuses = nullptr},
    ScheduleRow{
        .kind = ScheduleKind::zb_h1,
        .name = "zb_h1",
        .doc = "1F1B with weight gradients in the idle time, memory of 1F1B (Qi et al. 2023)",
        .placement = ChunkPlacement::loop,
        .fixed_virtual_stages = 0,
        .actions = zb_h1_actions,
        .warm_up = leading_forwards<zb_h1_actions>,
        .refuses = zb_h1_refuses},
    ScheduleRow{.kind = ScheduleKind::zb_h2,
                .name = "zb_h2",
                .doc = "no idle time inside a rank for twice the memory of 1F1B (Qi et al. 2023)",
                .placement = ChunkPlacement::loop,
                .fixed_virtual_stages = 1,
                .actions = zb_h2_actions,
                .warm_up = leading_forwards<zb_h2_actions>,
                .refuses = nullptr},
    ScheduleRow{
        .kind = ScheduleKind::zb_v,
        .name = "zb_v",
        .doc = "two chunks placed as a V, no idle time inside, memory of 1F1B (Qi et al. 2023)",
        .placement = ChunkPlacement::v_shape,
        .fixed_virtual_stages = 2,
        .actions = zb_v_actions,
        .warm_up = leading_forwards<zb_v_actions>,
        .refuses = nullptr},
    ScheduleRow{.kind = ScheduleKind::dualpipe,
                .name = "dualpipe",
                .doc = "two directions, forwards woven with backwards (DeepSeek-V3)",
                .placement = ChunkPlacement::two_way,
                .fixed_virtual_stages = 1,
                .actions = dualpipe_actions,
                .warm_up = leading_forwards<dualpipe_actions>,
                .refuses = dualpipe_refuses},
    ScheduleRow{.kind = ScheduleKind::dualpipe_v,
                .name = "dualpipe_v",
                .doc = "DualPipe on a V of one model copy (deepseek-ai/DualPipe)",
                .placement = ChunkPlacement::v_shape,
                .fixed_virtual_stages = 2,
                .actions = dualpipe_v_actions,
                .warm_up = leading_forwards<dualpipe_v_actions>,
                .refuses = dualpipe_v_refuses},
};

}  // namespace

std::span<const ScheduleRow> schedule_table() {
  return kSchedules;
}

const ScheduleRow& schedule_row(ScheduleKind kind) {
  for (const ScheduleRow& row : kSchedules) {
    if (row.kind == kind) return row;
  }
  CHECK(false, "the loader refuses schedules without a row");
  return kSchedules[0];
}

std::optional<std::string> refusal(const ScheduleRow& row, const ScheduleShape& shape) {
  if (row.fixed_virtual_stages != 0 && shape.virtual_stages != row.fixed_virtual_stages) {
    const bool one = row.fixed_virtual_stages == 1;
    return std::string(row.name) +
           (one ? " runs one chunk per device, not "
                : " runs " + std::to_string(row.fixed_virtual_stages) +
                      " chunks per device, not ") +
           std::to_string(shape.virtual_stages);
  }
  return row.refuses ? row.refuses(shape) : std::nullopt;
}

}  // namespace windtunnel
