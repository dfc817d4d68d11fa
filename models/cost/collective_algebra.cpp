#include "models/cost/collective_algebra.h"

#include "core/check.h"

namespace windtunnel {

namespace {

/// Wire bytes = S * parts / ranks.
std::int64_t wire_parts(CommKind kind, int ranks) {
  switch (kind) {
    case CommKind::all_reduce:
      return 2 * (std::int64_t{ranks} - 1);
    case CommKind::all_gather:
    case CommKind::reduce_scatter:
    case CommKind::all_to_all:
      return ranks - 1;
    case CommKind::broadcast:
      return ranks > 1 ? ranks : 0;
    case CommKind::ring_shift:
    case CommKind::send_recv:
      return ranks;
  }
  CHECK(false, "kind out of range");
  return 0;
}

}  // namespace

double busbw_factor(CommKind kind, int ranks) {
  CHECK(ranks >= 1, "a group has members");
  return static_cast<double>(wire_parts(kind, ranks)) / ranks;
}

std::int64_t wire_bytes(CommKind kind, int ranks, std::int64_t bytes) {
  CHECK(ranks >= 1, "a group has members");
  const std::int64_t whole = bytes / ranks;
  const std::int64_t rest = bytes % ranks;
  const std::int64_t parts = wire_parts(kind, ranks);
  return whole * parts + rest * parts / ranks;
}

BytesPerSecond bus_bandwidth(const CollectiveQuery& query, Seconds time) {
  return Bytes{static_cast<double>(query.bytes) * busbw_factor(query.kind, query.placement.ranks)} /
         time;
}

Seconds ring_time(const CollectiveQuery& query, AlphaBeta link) {
  const int n = query.placement.ranks;
  const double size = static_cast<double>(query.bytes);
  double steps = 1.0;
  double bytes_per_step = size;
  if (!is_message(query.kind) && query.kind != CommKind::broadcast) {
    steps = (query.kind == CommKind::all_reduce ? 2.0 : 1.0) * (n - 1);
    bytes_per_step = size / n;
  }
  return (link.alpha + Bytes{bytes_per_step} / link.beta) * steps;
}

std::array<std::int64_t, 3> cross_entropy_reductions(std::int64_t tokens) {
  const std::int64_t bytes = bytes_of(Dtype::fp32, tokens);
  return {bytes, bytes, bytes};
}

}  // namespace windtunnel
