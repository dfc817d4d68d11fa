#pragma once
// GPipe (Huang et al. 2019, 1811.06965): all forwards, then all backwards in the same micro-batch
// order. Idle per rank (p - 1)(F + B); every micro-batch is in flight.

#include "plan/schedules/schedule.h"

namespace windtunnel {

std::vector<ScheduleAction> gpipe_actions(const ScheduleShape& shape, int rank);
int gpipe_warm_up(const ScheduleShape& shape, int rank);

}  // namespace windtunnel
