#pragma once
// Closed forms of collectives: wire bytes, bus bandwidth, and the alpha-beta time of a ring.
//
// One size convention everywhere: S is the size of the full (gathered) tensor; for all_to_all the
// buffer of one rank. Source: NVIDIA nccl-tests doc/PERFORMANCE.md @a0b82b2. n ranks; alpha is the
// latency of one step (s), beta the bandwidth of one rank in one direction (B/s).
//
//   wire bytes per rank    all_reduce 2 (n-1)/n S;  all_gather, reduce_scatter, all_to_all
//                          (n-1)/n S;  broadcast, ring_shift, send_recv S
//   busbw                  wire bytes / time
//   ring time              steps (alpha + S/(n beta)), steps = 2(n-1) or n-1

#include "models/cost/cost_model.h"

namespace windtunnel {

/// wire bytes = factor * S. Precondition: ranks >= 1; 0 for one rank of a collective.
double busbw_factor(CommKind kind, int ranks);

/// Bytes each rank sends. S in bytes; fractions of a byte are cut off. (O-003..O-005, O-059, O-071)
std::int64_t wire_bytes(CommKind kind, int ranks, std::int64_t bytes);

/// Bus bandwidth of a collective that took `time`. (O-006)
BytesPerSecond bus_bandwidth(const CollectiveQuery& query, Seconds time);

struct AlphaBeta {
  Seconds alpha;
  BytesPerSecond beta;
};

/// Time on a ring; send_recv, ring_shift and broadcast count one step of the whole message. (O-001,
/// O-002, O-072)
Seconds ring_time(const CollectiveQuery& query, AlphaBeta link);

/// The three all-reduces of a vocabulary-parallel cross-entropy over `tokens` rows: maximum, target
/// logit, sum of exponentials, each of 4 bytes a token. Bytes of each. (O-073)
std::array<std::int64_t, 3> cross_entropy_reductions(std::int64_t tokens);

}  // namespace windtunnel
