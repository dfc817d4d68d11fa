// Is every gradient reduced exactly once, over exactly the ranks that share it?
//
// A gradient buffer is a static slot of category `grads` that the optimizer reads. Its reductions
// must cover it without gap or overlap, each after the last backward kernel that adds to its part
// and before the first optimizer kernel that reads it: over the whole dp group, or over the shard
// group and over the replicas of a shard; of experts that ranks hold apart over the ranks that hold
// the same. Host issue order stands for time here: that the streams
// keep to it is the business of `hazards`. Buffers that are shards from the start are the business
// of verify_scattered_gradients.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "program/gradient_access.h"
#include "program/verify_checks.h"

namespace windtunnel {

namespace {

using Access = GradientAccess;

class RoleGradients {
 public:
  RoleGradients(const ProgramFacts& facts, std::size_t role, const std::set<std::uint32_t>& tied)
      : facts_(facts), program_(facts.program), role_(program_.roles[role]), r_(role) {
    if (program_.mesh.ep > 1) find_parted();
    for (const CallVariant& variant : facts_.roles[r_].variants) collect(variant);
    buffers_ = uses_.buffers();
    for (SlotId id = 0; id < role_.slots.size(); ++id) {
      const Slot& slot = role_.slots[id];
      if (slot.param != kNone && tied.count(program_.params[slot.param].name) > 0 &&
          is_buffer(part(id).root))
        tied_.push_back(part(id));
    }
  }

  void check(Violations& v) const {
    if (replica_ranks(program_.mesh) > 1) {
      for (const SlotId root : buffers_) check_covers(root, v);
    }
    for (const SlotPart& part : tied_) check_tied(part, v);
    for (const Access& r : embedding_) {
      const bool holds_tied = std::any_of(tied_.begin(), tied_.end(),
                                          [&](const SlotPart& t) { return t.overlaps(r.part); });
      if (!holds_tied) v.add(text(r) + ": the buffer holds no tied parameter");
    }
    for (const std::vector<Access>* list :
         {&replicas_[kWhole], &replicas_[kShard], &replicas_[kReplicas], &embedding_}) {
      for (const Access& r : *list) check_between(program_, r_, r, uses_, v);
    }
  }

 private:
  std::string text(const Access& a) const { return text_of(program_, r_, a); }

  bool is_buffer(SlotId root) const {
    return std::binary_search(buffers_.begin(), buffers_.end(), root);
  }

  SlotPart part(SlotId id) const { return part_of(program_.mesh, role_, id); }

  bool is_static_gradient(SlotId id) const {
    const Slot& root = role_.slots[facts_.roles[r_].roots[id]];
    return root.category == Category::grads && root.space == Space::statics &&
           root.shard_of == kNone && !root.host;
  }

  void collect(const CallVariant& variant) {
    const Segment& segment = program_.segments[variant.call.segment];
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      const Op& op = program_.ops[i];
      if (op.kind != OpKind::compute && op.kind != OpKind::collective) continue;
      if (!runs(op, variant.call, 1)) continue;
      for (std::size_t n = 0; n < op.refs; ++n) {
        const SlotId id = program_.operands(op)[n];
        if (!is_static_gradient(id)) continue;
        const bool input = n < op.inputs;
        Access a{.part = part(id), .op = i, .count = variant.count};
        const bool makes = op.phase == Phase::backward || op.phase == Phase::weight_grad;
        a.call = makes ? variant.last_call : variant.first_call;
        if (op.kind == OpKind::compute) {
          if (!input && makes) uses_.writes.push_back(a);
          const bool to_host = program_.shapes[op.shape].kernel == Kernel::to_host;
          if (input && (op.phase == Phase::optimizer || to_host)) uses_.reads.push_back(a);
        } else if (input && program_.comms[op.comm].axes == replica_axes(program_.mesh)) {
          replicas_[over(a.part.root, program_.comms[op.comm])].push_back(a);
        } else if (input && program_.comms[op.comm].stage_pair >= 0 &&
                   program_.job.model_copies == 1) {
          embedding_.push_back(a);
        }
      }
    }
  }

  /// What of the ranks that hold the same a reduction is over: of the dp (and cp) group, or of the
  /// replicas of experts.
  enum Over : std::uint8_t { kWhole, kShard, kReplicas, kOthers };

  Over over(SlotId root, const Comm& comm) const {
    const int all = replica_ranks(program_.mesh);
    const int apart = parted_.contains(root) ? expert_ways(program_.mesh) : 1;
    const int ways = comm.ways == 0 ? all : comm.ways;
    if (comm.stride == apart) return ways * apart == all ? kWhole : kShard;
    return comm.stride % apart == 0 && comm.stride > apart ? kReplicas : kOthers;
  }

  /// Buffers of experts that ranks hold apart.
  void find_parted() {
    for (SlotId id = 0; id < role_.slots.size(); ++id) {
      const std::uint32_t param = role_.slots[id].param;
      if (param != kNone && program_.params[param].is_parted()) parted_.insert(part(id).root);
    }
  }

  void check_covers(SlotId root, Violations& v) const {
    for (const Access& a : replicas_[kOthers]) {
      if (a.part.root == root) v.add(text(a) + ": its members hold other experts");
    }
    const bool alone =
        parted_.contains(root) && group_size(program_.mesh, expert_replicas(program_.mesh)) == 1;
    if (alone) return;
    const auto has = [&](Over part) {
      return std::any_of(replicas_[part].begin(), replicas_[part].end(),
                         [&](const Access& a) { return a.part.root == root; });
    };
    if (has(kWhole) || !has(kShard)) return check_cover(root, kWhole, v);
    check_cover(root, kShard, v);
    check_cover(root, kReplicas, v);
  }

  void check_cover(SlotId root, Over part, Violations& v) const {
    std::vector<const Access*> parts;
    for (const Access& a : replicas_[part]) {
      if (a.part.root == root) parts.push_back(&a);
    }
    std::sort(parts.begin(), parts.end(),
              [](const Access* a, const Access* b) { return a->part.begin < b->part.begin; });
    std::int64_t covered = 0;
    const std::string name = slot_text(program_, role_, root);
    for (const Access* a : parts) {
      if (a->count != 1) v.add(fmt::format("{} runs {} times in a step", text(*a), a->count));
      if (a->part.begin < covered) v.add(text(*a) + ": reduces over dp a second time");
      if (a->part.begin > covered)
        v.add(fmt::format("role {}: elements {} to {} of {} are not reduced over dp", r_, covered,
                          a->part.begin, name));
      covered = std::max(covered, a->part.end);
    }
    if (covered < role_.slots[root].elements)
      v.add(fmt::format("role {}: elements {} to {} of {} are not reduced over dp", r_, covered,
                        role_.slots[root].elements, name));
  }

  void check_tied(const SlotPart& part, Violations& v) const {
    std::uint32_t times = 0;
    bool whole = true;
    for (const Access& a : embedding_) {
      if (!a.part.overlaps(part)) continue;
      times += a.count;
      whole &= a.part.begin <= part.begin && a.part.end >= part.end;
    }
    if (times != 1 || !whole)
      v.add(
          fmt::format("role {}: the tied parameter's gradient in {} is reduced {} over the first "
                      "and last stage",
                      r_, slot_text(program_, role_, part.root),
                      times == 1 ? std::string("in part") : fmt::format("{} times", times)));
  }

  const ProgramFacts& facts_;
  const Program& program_;
  const Role& role_;
  std::size_t r_;
  GradientUses uses_;
  std::array<std::vector<Access>, 4> replicas_;  // reductions over dp, by Over
  std::vector<Access> embedding_;                // reductions over the first and last stage
  std::set<SlotId> parted_;                      // roots that hold parts of all experts
  std::vector<SlotId> buffers_;                  // roots the optimizer reads, ascending
  std::vector<SlotPart> tied_;                   // gradients of tied parameters
};

}  // namespace

std::vector<std::string> check_gradients(const ProgramFacts& facts) {
  Violations v;
  std::set<std::uint32_t> tied;  // names of parameters that two stages hold
  for (const Param& param : facts.program.params) {
    if (param.tied_copy) tied.insert(param.name);
  }
  for (std::size_t r = 0; r < facts.roles.size(); ++r) {
    RoleGradients(facts, r, tied).check(v);
    check_scattered_gradients(facts, r, v);
  }
  return v.take();
}

}  // namespace windtunnel
