#pragma once
// Which step of one file is compared with which of another.

#include <string>
#include <vector>

#include "report/step_reader.h"

namespace windtunnel {

struct StepPair {
  std::size_t a = 0, b = 0;  // places in StepFile::steps
};

struct StepPairs {
  std::vector<StepPair> pairs;  // in A's order
  /// Ids without a partner; what was refused on one side has none on the other.
  std::vector<std::string> only_in_a, only_in_b;
};

/// By id; one step on each side (and nothing refused) is a pair whatever the ids.
StepPairs pair_steps(const StepFile& a, const StepFile& b);

}  // namespace windtunnel
