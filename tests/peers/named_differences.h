#pragma once
// The differences between what PyTorch issued and what is lowered for the same plan: each has a
// name, one reason, and changes a recording into what the lowering is expected to say.

#include <span>

#include "tests/peers/event_list.h"

namespace windtunnel::peers {

/// Whose step it is.
struct RankContext {
  int ranks = 1, dp = 1;
  std::string dp_group;     // "0,1"
  std::string shard_group;  // the part of it that shares a shard
  bool has_loss = true;     // of the last stage
};

struct NamedDifference {
  const char* name;
  const char* changes;  // which lines it adds, removes or changes
  const char* reason;
  EventList (*apply)(EventList recorded, const RankContext& context);
  bool on_both = false;  // what is not compared: applied to what is lowered, too
};

std::span<const NamedDifference> named_differences();
const NamedDifference& named_difference(const std::string& name);

}  // namespace windtunnel::peers
