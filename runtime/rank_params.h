#pragma once
// Where the parameters lie in one rank's static memory.
//
// Weights, gradients and states may be packed into flat buffers and sharded over data-parallel
// ranks; any range of such a buffer is cut here into pieces of parameters with their global
// indices.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "program/mesh.h"
#include "program/program.h"
#include "runtime/execution.h"
#include "runtime/param_map.h"
#include "runtime/rank_memory.h"

namespace windtunnel {

/// Visits the compute ops of a role's step, with their calls.
template <class Visit>
void for_each_op(const Program& program, const Role& role, Visit visit) {
  for (const Call& call : role.calls) {
    for (const Op& op : program.ops_of(call)) {
      if (op.kind == OpKind::compute) visit(op, call);
    }
  }
}

/// Visits the optimizer ops of a role, with their calls.
template <class Visit>
void for_each_update(const Program& program, const Role& role, Visit visit) {
  for_each_op(program, role, [&](const Op& op, const Call& call) {
    const Kernel kernel = program.shapes[op.shape].kernel;
    if (kernel == Kernel::adamw || kernel == Kernel::sgd) visit(op, call);
  });
}

class RankParams {
 public:
  RankParams(const Program& program, const Role& role, const Coordinates& at);

  /// Parameters of a root slot's memory, in order; empty when it holds none.
  const std::vector<ParamRange>& ranges(SlotId root) const;
  const ParamMap& map(std::uint32_t param) const { return maps_.at(param); }

  /// The parts of a gradient that count in the norm, relative to its first element. The gradient is
  /// cut like the weights that the optimizer updates with it, for it may be a copy that holds no
  /// parameters itself; one that no optimizer op reads, but the host's copy of it, like itself.
  /// Throws ExecutionError when it holds no parameters.
  std::vector<ParamRange> counted(SlotId gradient) const;

 private:
  const Program* program_;
  int tp_rank_;
  void add_shards(const Role& role, const Coordinates& at, const RankMemory<double>& layout);

  std::unordered_map<SlotId, MemoryRange> updates_;  // gradient -> the weights updated with it
  std::unordered_map<SlotId, MemoryRange> normed_;   // gradients whose squares are summed
  std::unordered_map<SlotId, std::vector<ParamRange>> ranges_;
  std::unordered_map<std::uint32_t, ParamMap> maps_;
};

/// The pieces of `values` (elements of `range`), one per parameter.
template <class T>
std::vector<TensorPiece> pieces_of(const RankParams& params, int rank, const MemoryRange& range,
                                   const T* values) {
  std::vector<TensorPiece> pieces;
  for (const ParamRange& r : params.ranges(range.root)) {
    if (!range.overlaps(r.begin, r.end)) continue;
    TensorPiece piece{.param = r.param, .rank = rank, .index = {}, .values = {}};
    const ParamMap& map = params.map(r.param);
    for (std::int64_t i = std::max(r.begin, range.begin); i < std::min(r.end, range.end); ++i) {
      piece.index.push_back(map.global_index(r.first + i - r.begin));
      piece.values.push_back(reference::Number<T>::to_double(values[i - range.begin]));
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace windtunnel
