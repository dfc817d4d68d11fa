#include "planning/clock_range.h"

#include <fmt/format.h>

#include <vector>

#include "core/diagnostics.h"

namespace windtunnel {

namespace {

/// Ten days: a tenth of the clock, as the draws of uncertain costs lie well within ten times the
/// nominal ones.
constexpr Seconds kLongestStep{864'000.0};

}  // namespace

void check_clock_range(const Program& program, const NominalCosts& costs) {
  std::vector<Seconds> of_segment(program.segments.size());
  for (std::size_t s = 0; s < of_segment.size(); ++s) {
    const Segment& segment = program.segments[s];
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i)
      of_segment[s] += costs.of_op[i] + costs.launch * program.ops[i].launches;
  }
  Seconds total;
  for (std::size_t r = 0; r < program.roles.size(); ++r) {
    const double factor = costs.role_factor.empty() ? 1.0 : costs.role_factor[r];
    for (const Call& call : program.roles[r].calls) total += of_segment[call.segment] * factor;
  }
  if (total <= kLongestStep) return;
  throw InputError({{.position = {},
                     .message = fmt::format("the ops of a step take {:.3g} s together; more than "
                                            "{:.3g} s are not simulated",
                                            total.value, kLongestStep.value),
                     .hint = "look at the cluster's bandwidths, latencies and unit costs, and at "
                             "the size of the batch",
                     .source_line = ""}});
}

}  // namespace windtunnel
