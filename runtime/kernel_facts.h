#pragma once
// What a kernel about to run knows besides its operands: its sizes and its place in the job.

#include <cstdint>
#include <vector>

#include "kernels/reference/placement.h"
#include "program/mesh.h"
#include "program/program.h"
#include "runtime/param_map.h"

namespace windtunnel {

struct KernelFacts {
  const Program& program;
  const Op& op;
  const Shape& shape;
  Call call;
  Coordinates at;
  int step = 0;
  std::uint64_t seed = 0;
  const std::vector<ParamRange>& norm_ranges;  // sum_squares: what of its operand counts

  std::int64_t dim(std::size_t i) const { return shape.dims[i]; }
  bool has(ShapeAttr attr) const { return (shape.attr & attr) != 0; }

  /// Where this rank's `rows` rows lie in the micro-batch of `micro` samples.
  reference::RowPlacement rows(std::int64_t micro, std::int64_t row_count) const {
    return {.micro = micro,
            .first_row = has(kSequenceShard) ? at.tp * row_count : 0,
            .first_sample = first_sample(),
            .positions = zig_zag(program.mesh.cp, at.cp)};
  }
  /// What the rank at `place` of `ring` holds of the sequence.
  reference::ZigZag zig_zag(int ring, int place) const {
    if (ring == 1) return {};
    return {.half = program.job.sequence / (std::int64_t{2} * ring), .ring = ring, .place = place};
  }
  /// Global number of the first of `heads` query heads.
  std::int64_t first_head(std::int64_t heads) const {
    const int parts = has(kHeadShard) ? program.mesh.cp_heads : 1;
    return (std::int64_t{at.tp} * parts + at.cp % parts) * heads;
  }
  /// Global number of the first sample of this call's micro-batch.
  std::int64_t first_sample() const {
    const Job& job = program.job;
    return step * job.global_batch + (at.dp * job.micro_batches + call.micro_batch) * job.micro;
  }
};

}  // namespace windtunnel
