#pragma once
// Recorded variants that have no plan of ours.

#include <vector>

namespace windtunnel::peers {

struct NotLowered {
  const char* file;
  const char* variant;
  const char* why;
};
const std::vector<NotLowered>& not_lowered();

}  // namespace windtunnel::peers
