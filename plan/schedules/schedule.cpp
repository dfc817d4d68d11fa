#include "plan/schedules/schedule.h"

#include <array>

#include "core/check.h"
#include "plan/schedules/gpipe.h"
#include "plan/schedules/interleaved_1f1b.h"
#include "plan/schedules/one_f_one_b.h"

namespace windtunnel {

namespace {

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
