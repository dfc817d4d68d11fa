#include "program/op_runs.h"

#include <map>
#include <tuple>

namespace windtunnel {

std::vector<const Segment*> segments_of(const Program& program, const Role& role) {
  std::vector<bool> seen(program.segments.size(), false);
  std::vector<const Segment*> segments;
  for (const Call& call : role.calls) {
    if (seen[call.segment]) continue;
    seen[call.segment] = true;
    segments.push_back(&program.segments[call.segment]);
  }
  return segments;
}

namespace {

constexpr int kSteadyStep = 1;

}  // namespace

void count_runs(const Program& program, const Role& role, std::vector<std::int64_t>& counts) {
  std::map<std::tuple<std::uint32_t, bool, bool>, std::int64_t> calls;  // segment, first, last
  for (const Call& c : role.calls) ++calls[{c.segment, c.first_micro_batch, c.last_micro_batch}];
  for (const auto& [key, count] : calls) {
    const Call call{.segment = std::get<0>(key),
                    .first_micro_batch = std::get<1>(key),
                    .last_micro_batch = std::get<2>(key)};
    const Segment& s = program.segments[call.segment];
    for (std::uint32_t i = s.op_begin; i < s.op_end; ++i) {
      if (runs(program.ops[i], call, kSteadyStep)) counts[i] += count;
    }
  }
}

}  // namespace windtunnel
