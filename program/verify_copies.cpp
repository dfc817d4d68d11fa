// Where the model lies on the stages twice: is every gradient summed over both copies once, whole,
// before the optimizer reads it?
//
// Each copy has half of the micro-batches. The sum is an all-reduce between the two stages that
// hold the same part of the model; a gradient that is cut to shards is summed shard by shard.

#include <fmt/format.h>

#include <algorithm>

#include "program/gradient_access.h"
#include "program/verify_checks.h"

namespace windtunnel {

namespace {

using Access = GradientAccess;

class CopiedGradients {
 public:
  CopiedGradients(const ProgramFacts& facts, std::size_t role)
      : facts_(facts), program_(facts.program), role_(program_.roles[role]), r_(role) {
    for (const CallVariant& variant : facts_.roles[r_].variants) collect(variant);
  }

  void check(Violations& v) {
    for (const SlotId root : uses_.buffers()) check_cover(root, v);
    for (const Access& sum : sums_) check_between(program_, r_, sum, uses_, v);
  }

 private:
  /// What a host has of them are copies.
  bool is_gradient(SlotId id) const {
    const Slot& root = role_.slots[facts_.roles[r_].roots[id]];
    return root.category == Category::grads && !root.host &&
           (root.space == Space::statics || root.space == Space::step);
  }

  void collect(const CallVariant& variant) {
    const Segment& segment = program_.segments[variant.call.segment];
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      const Op& op = program_.ops[i];
      if (op.kind != OpKind::compute && op.kind != OpKind::collective) continue;
      if (!runs(op, variant.call, 1)) continue;
      const bool leaves =
          op.kind == OpKind::compute && program_.shapes[op.shape].kernel == Kernel::to_host;
      const bool optimizes = op.phase == Phase::optimizer || leaves;
      const bool sums = op.kind == OpKind::collective && op.reduce == ReduceOp::sum &&
                        program_.comms[op.comm].stage_pair >= 0;
      for (std::size_t n = 0; n < op.refs; ++n) {
        const SlotId id = program_.operands(op)[n];
        if (!is_gradient(id)) continue;
        const bool input = n < op.inputs;
        Access a{.part = part_of(program_.mesh, role_, id), .op = i, .count = variant.count};
        a.call = optimizes || sums ? variant.first_call : variant.last_call;
        if (sums && input) sums_.push_back(a);
        if (!sums && !input && !optimizes) uses_.writes.push_back(a);
        if (input && optimizes) uses_.reads.push_back(a);
      }
    }
  }

  void check_cover(SlotId root, Violations& v) const {
    std::vector<const Access*> parts;
    for (const Access& a : sums_) {
      if (a.part.root == root) parts.push_back(&a);
    }
    std::sort(parts.begin(), parts.end(),
              [](const Access* a, const Access* b) { return a->part.begin < b->part.begin; });
    std::int64_t covered = 0;
    bool once = true;
    for (const Access* a : parts) {
      once &= a->count == 1 && a->part.begin == covered;
      covered = a->part.end;
    }
    if (!once || covered != role_.slots[root].elements)
      v.add(fmt::format("role {}: {} is not summed over both copies of the model once", r_,
                        slot_text(program_, role_, root)));
  }

  const ProgramFacts& facts_;
  const Program& program_;
  const Role& role_;
  std::size_t r_;
  GradientUses uses_;
  std::vector<Access> sums_;
};

}  // namespace

std::vector<std::string> check_copies(const ProgramFacts& facts) {
  Violations v;
  if (facts.program.job.model_copies == 1) return v.take();
  for (std::size_t r = 0; r < facts.roles.size(); ++r) CopiedGradients(facts, r).check(v);
  return v.take();
}

}  // namespace windtunnel
