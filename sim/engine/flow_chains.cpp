#include "sim/engine/flow_chains.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace windtunnel {

namespace {

using Ends = std::vector<std::pair<Picoseconds, std::size_t>>;  // end, transfer

/// The latest that ends by `time`.
std::optional<Predecessor> latest_by(const Ends& ends, Picoseconds time) {
  const auto after = std::upper_bound(ends.begin(), ends.end(), std::pair{time, SIZE_MAX});
  if (after == ends.begin()) return std::nullopt;
  const auto& [end, transfer] = *(after - 1);
  return Predecessor{.transfer = transfer, .gap = time - end};
}

}  // namespace

std::vector<std::optional<Predecessor>> predecessors_of(std::span<const SweptTransfer> transfers) {
  std::map<std::tuple<int, Stream, int>, Ends> on_stream;
  std::map<int, Ends> holding_up;  // by role
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const SweptTransfer& t = transfers[i];
    if (t.point_to_point) continue;
    on_stream[{t.role, t.stream, t.lane}].emplace_back(t.end, i);
    if (t.stream == Stream::compute) holding_up[t.role].emplace_back(t.end, i);
  }
  for (auto& [stream, ends] : on_stream) std::sort(ends.begin(), ends.end());
  for (auto& [role, ends] : holding_up) std::sort(ends.begin(), ends.end());
  std::vector<std::optional<Predecessor>> result;
  for (const SweptTransfer& t : transfers) {
    if (t.point_to_point) {
      result.push_back(std::nullopt);
      continue;
    }
    std::optional<Predecessor> before = latest_by(on_stream[{t.role, t.stream, t.lane}], t.start);
    if (!before || before->gap > 0) before = latest_by(holding_up[t.role], t.start);
    result.push_back(before);
  }
  return result;
}

}  // namespace windtunnel
