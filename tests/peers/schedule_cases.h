#pragma once
// Which recorded list of actions is which schedule of ours, with the named differences.

#include <vector>

#include "scenarios/scenario.h"

namespace windtunnel::peers {

struct ScheduleCase {
  const char* recorded;  // class of torch.distributed.pipelining.schedules
  ScheduleKind kind;
  std::vector<const char*> differences;  // names of named_differences()
};

const std::vector<ScheduleCase>& schedule_cases();

}  // namespace windtunnel::peers
