#include "sim/engine/flow_chains.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace windtunnel {

namespace {

using Ends = std::vector<std::pair<Picoseconds, std::size_t>>;  // end, transfer

/// The latest that ends by `time`, or none.
std::size_t latest_by(const Ends& ends, Picoseconds time) {
  const auto after = std::upper_bound(ends.begin(), ends.end(), std::pair{time, SIZE_MAX});
  return after == ends.begin() ? Order::kNothing : (after - 1)->second;
}

}  // namespace

std::vector<Order> order_of(std::span<const SweptTransfer> transfers) {
  std::map<std::tuple<int, Stream, int>, Ends> on_stream;  // role, stream, lane
  std::map<int, Ends> on_compute;                          // collectives by role
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const SweptTransfer& t = transfers[i];
    on_stream[{t.role, t.stream, t.lane}].emplace_back(t.end, i);
    if (!t.point_to_point && t.stream == Stream::compute) on_compute[t.role].emplace_back(t.end, i);
  }
  for (auto& [stream, ends] : on_stream) std::sort(ends.begin(), ends.end());
  for (auto& [role, ends] : on_compute) std::sort(ends.begin(), ends.end());
  std::vector<Order> orders;
  for (const SweptTransfer& t : transfers) {
    Order order{.behind = latest_by(on_stream[{t.role, t.stream, t.lane}], t.start)};
    if (!t.point_to_point) {
      const bool at_once =
          order.behind != Order::kNothing && transfers[order.behind].end == t.start;
      order.follows = at_once ? order.behind : latest_by(on_compute[t.role], t.start);
    }
    if (order.follows != Order::kNothing) order.gap = t.start - transfers[order.follows].end;
    orders.push_back(order);
  }
  return orders;
}

}  // namespace windtunnel
