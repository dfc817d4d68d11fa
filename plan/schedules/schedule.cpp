#include "plan/schedules/schedule.h"

#include <array>

#include "core/check.h"
#include "plan/schedules/gpipe.h"
#include "plan/schedules/interleaved_1f1b.h"
#include "plan/schedules/one_f_one_b.h"

namespace windtunnel {

namespace {

constexpr std::array kSchedules = {
    ScheduleRow{ScheduleKind::gpipe, "gpipe",
                "all forwards, then all backwards (Huang et al. 2019)", gpipe_actions,
                gpipe_warm_up},
    ScheduleRow{ScheduleKind::one_f_one_b, "1f1b",
                "one forward, one backward (Narayanan et al. 2021)", one_f_one_b_actions,
                one_f_one_b_warm_up},
    ScheduleRow{ScheduleKind::interleaved_1f1b, "interleaved_1f1b",
                "1F1B over v chunks per rank (Narayanan et al. 2021)", interleaved_1f1b_actions,
                interleaved_1f1b_warm_up},
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

}  // namespace windtunnel
