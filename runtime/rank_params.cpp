#include "runtime/rank_params.h"

#include <algorithm>

namespace windtunnel {

RankParams::RankParams(const Program& program, const Role& role, const Coordinates& at)
    : program_(&program), tp_rank_(at.tp) {
  const RankMemory<double> layout(program, role, at);
  for (SlotId id = 0; id < role.slots.size(); ++id) {
    const std::uint32_t param = role.slots[id].param;
    if (param == kNone) continue;
    const MemoryRange range = layout.resolve(id, -1);
    ranges_[range.root].push_back({.begin = range.begin, .end = range.end, .param = param});
    const auto [map, added] = maps_.try_emplace(param, program.params[param], program.mesh, at);
    if (map->second.elements() != range.elements()) {
      throw ExecutionError(layout.name(id) + " has " + std::to_string(range.elements()) +
                           " elements, its parameter's part of a rank has " +
                           std::to_string(map->second.elements()));
    }
  }
  for (auto& [root, all] : ranges_) {
    std::sort(all.begin(), all.end(),
              [](const ParamRange& a, const ParamRange& b) { return a.begin < b.begin; });
  }
  add_shards(role, at, layout);
  for_each_op(program, role, [&](const Op& op, const Call& call) {
    if (program.shapes[op.shape].kernel != Kernel::sum_squares) return;
    const SlotId gradient = program.operands(op).front();
    normed_.emplace(gradient, layout.resolve(gradient, call.micro_batch));
  });
  for_each_update(program, role, [&](const Op& op, const Call& call) {
    const auto operands = program.operands(op);
    updates_.emplace(operands.front(), layout.resolve(operands.back(), call.micro_batch));
  });
}

/// A shard holds what lies in its part of the whole, which may begin and end inside parameters.
void RankParams::add_shards(const Role& role, const Coordinates& at,
                            const RankMemory<double>& layout) {
  for (SlotId id = 0; id < role.slots.size(); ++id) {
    const Slot& shard = role.slots[id];
    if (shard.shard_of == kNone) continue;
    const MemoryRange whole = layout.resolve(shard.shard_of, -1);
    const std::int64_t part = role.slots[shard.shard_of].elements / dp_ways(program_->mesh, shard);
    const std::int64_t begin =
        whole.begin + part * dp_place(program_->mesh, at, shard) + shard.offset;
    std::vector<ParamRange>& own = ranges_[id];
    for (const ParamRange& r : ranges(whole.root)) {
      const std::int64_t from = std::max(r.begin, begin);
      const std::int64_t to = std::min(r.end, begin + shard.elements);
      if (from >= to) continue;
      own.push_back({.begin = from - begin,
                     .end = to - begin,
                     .param = r.param,
                     .first = r.first + from - r.begin});
    }
  }
}

const std::vector<ParamRange>& RankParams::ranges(SlotId root) const {
  static const std::vector<ParamRange> kNothing;
  const auto found = ranges_.find(root);
  return found == ranges_.end() ? kNothing : found->second;
}

std::vector<ParamRange> RankParams::counted(SlotId gradient) const {
  const auto found = updates_.find(gradient);
  // What is copied to the host to be read there is cut as it lies itself.
  const MemoryRange& weights = found != updates_.end() ? found->second : normed_.at(gradient);
  // A shard may be padding alone.
  if (!ranges_.contains(weights.root)) throw ExecutionError("no optimizer op reads this gradient");
  std::vector<ParamRange> result;
  for (const ParamRange& r : ranges(weights.root)) {
    const std::int64_t from = std::max(r.begin, weights.begin);
    const std::int64_t to = std::min(r.end, weights.end);
    if (from < to && counts_in_norm(program_->params[r.param], tp_rank_)) {
      result.push_back(
          {.begin = from - weights.begin, .end = to - weights.begin, .param = r.param});
    }
  }
  return result;
}

}  // namespace windtunnel
