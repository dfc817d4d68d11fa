#pragma once
// What one rank of a role communicates in a step, counted from its program.
//
// Sizes follow the convention of the collectives' algebra: the elements of the full (gathered)
// tensor; for transfers the elements sent or received.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace windtunnel {

/// Which executions count; an empty field matches all.
struct CountFilter {
  std::optional<std::string> comm;  // by name
  std::optional<Collective> collective;
  std::optional<Phase> phase;
  std::optional<Module> module;
  std::optional<int> layer;        // global; -1 for outside the layers
  std::optional<int> micro_batch;  // -1 for outside the micro-batches
  std::optional<bool> recompute;
};

struct CollectiveCount {
  std::uint32_t comm = 0;
  Collective collective = Collective::all_reduce;
  ReduceOp reduce = ReduceOp::none;
  Phase phase = Phase::forward;
  Dtype dtype = Dtype::none;
  std::int64_t count = 0;
  std::int64_t elements = 0;  // all of them together
  std::int64_t bytes = 0;

  friend bool operator==(const CollectiveCount&, const CollectiveCount&) = default;
};

struct TransferCount {
  OpKind kind = OpKind::send;
  std::uint32_t comm = 0;
  int peer = 0;  // role
  Phase phase = Phase::forward;
  std::int64_t count = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;

  friend bool operator==(const TransferCount&, const TransferCount&) = default;
};

struct CollectiveCounts {
  std::vector<CollectiveCount> collectives;  // in order of first issue
  std::vector<TransferCount> transfers;

  /// Sums over all rows of one kind.
  CollectiveCount sum(Collective collective) const;
  TransferCount sum(OpKind kind) const;

  friend bool operator==(const CollectiveCounts&, const CollectiveCounts&) = default;
};

/// Of a step after the first. Precondition: role < program.roles.size().
CollectiveCounts count_collectives(const Program& program, std::size_t role,
                                   const CountFilter& filter = {});

}  // namespace windtunnel
