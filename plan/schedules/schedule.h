#pragma once
// A pipeline schedule: the order in which each pipeline rank runs the forward and backward of its
// chunks.
//
// Pure functions from a shape to a list of actions; transfers, collectives and memory follow from
// the order and are added by the host-issue pass (plan/call_order.h). One file per schedule, one
// row each in `schedule_table()`.

#include <cstdint>
#include <span>
#include <vector>

#include "scenarios/scenario.h"

namespace windtunnel {

struct ScheduleShape {
  int pp = 1;              // p: pipeline ranks
  int virtual_stages = 1;  // v: chunks per rank
  int micro_batches = 1;   // m
  int micro_batch_group =
      1;  // N: consecutive micro-batches a chunk runs before the next chunk (interleaved)
};

struct ScheduleAction {
  enum class Kind : std::uint8_t { forward, backward } kind = Kind::forward;
  std::int16_t chunk = 0;  // local: 0 .. v-1
  std::int32_t micro_batch = 0;

  friend bool operator==(const ScheduleAction&, const ScheduleAction&) = default;
};

struct ScheduleRow {
  ScheduleKind kind;
  const char* name;
  const char* doc;  // order, bubble and in-flight activations, with the source
  std::vector<ScheduleAction> (*actions)(const ScheduleShape&, int rank);
  /// Forwards of `rank` before its first backward.
  int (*warm_up)(const ScheduleShape&, int rank);
};

std::span<const ScheduleRow> schedule_table();
const ScheduleRow& schedule_row(ScheduleKind kind);

/// Order of (chunk, micro-batch) of the forward passes of interleaved 1F1B: groups of N
/// micro-batches, each through all chunks (the last group may be larger than 0 and smaller than N).
std::vector<ScheduleAction> interleaved_forward_order(const ScheduleShape& shape);

}  // namespace windtunnel
