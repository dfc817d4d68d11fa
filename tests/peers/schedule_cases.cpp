#include "tests/peers/schedule_cases.h"

namespace windtunnel::peers {

const std::vector<ScheduleCase>& schedule_cases() {
  static const std::vector<ScheduleCase> kRows{
      {"ScheduleGPipe", ScheduleKind::gpipe, {"reduction_actions"}},
      {"Schedule1F1B",
       ScheduleKind::one_f_one_b,
       {"reduction_actions", "last_rank_of_the_listing"}},
      {"ScheduleInterleaved1F1B", ScheduleKind::interleaved_1f1b, {}},
      {"ScheduleLoopedBFS", ScheduleKind::bfs, {}},
      {"ScheduleInterleavedZeroBubble", ScheduleKind::zb_h1, {}},
      {"ScheduleZBVZeroBubble", ScheduleKind::zb_v, {}},
      {"ScheduleDualPipeV", ScheduleKind::dualpipe_v, {}},
  };
  return kRows;
}

}  // namespace windtunnel::peers
