#pragma once
// A pipeline schedule: the order in which each pipeline rank runs the forward and backward of its
// chunks.
//
// Pure functions from a shape to a list of actions; transfers, collectives and memory follow from
// the order and are added by the host-issue pass (plan/call_order.h). One file per schedule, one
// row each in `schedule_table()`.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/schedules/placement.h"
#include "scenarios/scenario.h"

namespace windtunnel {

struct ScheduleShape {
  int pp = 1;              // p: pipeline ranks
  int virtual_stages = 1;  // v: chunks per rank
  int micro_batches = 1;   // m
  int micro_batch_group =
      1;  // N: consecutive micro-batches a chunk runs before the next chunk (interleaved)
  int extra_warm_up = 0;  // forwards more before the first pair (interleaved 1F1B)
};

/// One pass of a chunk over a micro-batch. A backward is an input gradient and a weight gradient in
/// one; split, the input gradient frees the rank before, the weight gradient may run any time
/// later.
struct ScheduleAction {
  enum class Kind : std::uint8_t { forward, backward, input_grad, weight_grad };

  Kind kind = Kind::forward;
  std::int16_t chunk = 0;  // local: 0 .. chunks_per_rank - 1
  std::int32_t micro_batch = 0;
  bool overlaps_next = false;  // a forward woven together with the backward that follows it

  friend bool operator==(const ScheduleAction&, const ScheduleAction&) = default;
};

struct ScheduleRow {
  ScheduleKind kind;
  const char* name;
  const char* doc;  // order, bubble and in-flight activations, with the source
  ChunkPlacement placement;
  int fixed_virtual_stages;  // the only v it runs; 0: any
  std::vector<ScheduleAction> (*actions)(const ScheduleShape&, int rank);
  /// Forwards of `rank` before its first backward or input gradient; 1F1B and interleaving count as
  /// NVIDIA/Megatron-LM does, without the forward of the first pair.
  int (*warm_up)(const ScheduleShape&, int rank);
  /// What of a shape with that v it cannot run, and why; null: runs any.
  std::optional<std::string> (*refuses)(const ScheduleShape&);
};

std::span<const ScheduleRow> schedule_table();
const ScheduleRow& schedule_row(ScheduleKind kind);

/// Why the schedule does not run the shape, as a sentence for the user; nothing when it does. The
/// lists of actions exist only for shapes that are not refused.
std::optional<std::string> refusal(const ScheduleRow& row, const ScheduleShape& shape);

/// Order of (chunk, micro-batch) of the forward passes of interleaved 1F1B: groups of N
/// micro-batches, each through all chunks (the last group may be larger than 0 and smaller than N).
std::vector<ScheduleAction> interleaved_forward_order(const ScheduleShape& shape);

}  // namespace windtunnel
