// Are gradients that are cut to shards as they are made complete, and cut once?
//
// Here the buffer the optimizer reads is a shard. In the call that writes it every gradient a
// backward kernel made must flow, unchanged from then on, into one reduction's input; the
// reduction's result must go over the replicas of the shard, where there are any, and be written to
// the shard or added to it: in every micro-batch, or once after the last.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "program/mesh.h"
#include "program/verify_checks.h"

namespace windtunnel {

namespace {

class ScatteredGradients {
 public:
  ScatteredGradients(const ProgramFacts& facts, std::size_t role)
      : facts_(facts),
        program_(facts.program),
        role_(program_.roles[role]),
        roots_(facts.roles[role].roots),
        r_(role) {
    for (const Comm& comm : program_.comms) {
      has_replicas_ |= comm.axes == replica_axes(program_.mesh) && is_over_replicas(comm);
    }
  }

  void check(Violations& v) {
    for (SlotId id = 0; id < role_.slots.size(); ++id) {
      const Slot& slot = role_.slots[id];
      if (slot.shard_of != kNone && slot.category == Category::grads) {
        writes_[id] = 0;
        has_whole_shards_ |= slot.dp_ways == 1;
      }
    }
    if (writes_.empty()) return;
    for (const CallVariant& variant : facts_.roles[r_].variants) follow(variant, v);
    const std::int64_t m = program_.job.micro_batches;
    for (const auto& [id, count] : writes_) {
      if (count != m && count != 1)
        v.add(fmt::format("role {}: {} is written {} times in a step of {} micro-batches", r_,
                          slot_text(program_, role_, id), count, m));
    }
  }

 private:
  /// Over the replicas of a shard; those of experts share theirs.
  bool is_over_replicas(const Comm& comm) const {
    if (comm.ways == 0 || comm.stride == 1) return false;
    if (program_.mesh.ep == 1) return true;
    const Comm experts = expert_replicas(program_.mesh);
    return comm.ways != experts.ways || comm.stride != experts.stride;
  }

  enum class State : std::uint8_t {
    made,       // a gradient kernel wrote it
    packed,     // it went into a reduction's input
    input,      // gradients were packed into it
    scattered,  // a reduction over the shard group wrote it
    reduced,    // and it went over the replicas
  };

  void follow(const CallVariant& variant, Violations& v) {
    states_.clear();
    const Segment& segment = program_.segments[variant.call.segment];
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      const Op& op = program_.ops[i];
      if (!runs(op, variant.call, 1)) continue;
      const OpPlace at{r_, variant.first_call, i};
      if (op.kind == OpKind::collective) collective(op, at, variant.count, v);
      if (op.kind == OpKind::compute) compute(op, at, variant.count, v);
    }
    for (const auto& [root, state] : states_) {
      if (state == State::made)
        v.add(fmt::format("{}: {} is made and not reduced",
                          call_text(program_, r_, variant.first_call),
                          slot_text(program_, role_, root)));
      if (state == State::input || state == State::scattered)
        v.add(fmt::format("{}: {} is not reduced over the whole dp group",
                          call_text(program_, r_, variant.first_call),
                          slot_text(program_, role_, root)));
    }
  }

  SlotId root(const Op& op, std::size_t operand) const {
    return roots_[program_.operands(op)[operand]];
  }

  bool has(SlotId id, State state) const {
    const auto found = states_.find(id);
    return found != states_.end() && found->second == state;
  }

  /// Gradients of one micro-batch: neither kept over micro-batches nor shards.
  bool is_passing(SlotId id) const {
    const Slot& s = role_.slots[id];
    return s.category == Category::grads && s.shard_of == kNone &&
           (s.space == Space::scratch || s.space == Space::frame);
  }

  bool is_kept(SlotId id) const {
    const Slot& s = role_.slots[id];
    return s.category == Category::grads && s.shard_of == kNone && s.space == Space::step;
  }

  void collective(const Op& op, const OpPlace& at, std::uint32_t count, Violations& v) {
    const Comm& comm = program_.comms[op.comm];
    if (comm.axes != replica_axes(program_.mesh) || op.reduce == ReduceOp::none) return;
    const SlotId in = root(op, 0), out = root(op, op.refs - 1U);
    if (is_over_replicas(comm)) {
      if (!has(in, State::scattered)) {
        if (writes_.contains(in))
          v.add(place_text(program_, at) + ": the shard is not what a reduction left");
        return;
      }
      states_[in] = State::reduced;
      return;
    }
    if (!has(in, State::input)) {
      if (writes_.contains(out))
        v.add(place_text(program_, at) + ": no gradients were packed into its input");
      return;
    }
    states_.erase(in);
    states_[out] = has_replicas_ ? State::scattered : State::reduced;
    if (writes_.contains(out)) written(out, count);
  }

  void written(SlotId shard, std::uint32_t count) { writes_[shard] += count; }

  void compute(const Op& op, const OpPlace& at, std::uint32_t count, Violations& v) {
    const bool reads_gradients = reads(op);
    // Experts that no other rank holds: what was packed is the shard.
    const bool passes_on = has_whole_shards_ && op.phase == Phase::grad_sync && op.refs > 1 &&
                           program_.shapes[op.shape].kernel == Kernel::copy &&
                           has(root(op, 0), State::input);
    if (passes_on) states_[root(op, 0)] = State::reduced;
    for (std::size_t n = op.inputs; n < op.refs; ++n) {
      const SlotId out = root(op, n);
      if (writes_.contains(out) && op.phase != Phase::optimizer) {
        if (!has(root(op, 0), State::reduced))
          v.add(place_text(program_, at) + ": adds what is not reduced over the whole dp group");
        // What was reduced is divided in place: no other gradient.
        const bool divides =
            program_.shapes[op.shape].kernel == Kernel::scale && root(op, 0) == out;
        if (!divides) written(out, count);
      } else if (passes_on) {
        states_[out] = State::reduced;
      } else if ((is_passing(out) || is_kept(out)) &&
                 (op.phase == Phase::backward || op.phase == Phase::weight_grad)) {
        if (has(out, State::packed))
          v.add(place_text(program_, at) + ": changes a gradient that was packed already");
        if (is_passing(out)) states_[out] = State::made;
      } else if (reads_gradients && !is_passing(out) && !is_kept(out)) {
        if (op.phase == Phase::grad_sync) states_[out] = State::input;
      }
    }
    if (!reads_gradients) return;
    for (std::size_t n = 0; n < op.inputs; ++n) {
      const SlotId in = root(op, n);
      if (is_passing(in) || (is_kept(in) && op.phase == Phase::grad_sync))
        states_[in] = State::packed;
    }
  }

  bool reads(const Op& op) const {
    bool some = false;
    for (std::size_t n = 0; n < op.inputs; ++n) {
      some |= is_passing(root(op, n)) || is_kept(root(op, n));
    }
    return some;
  }

  const ProgramFacts& facts_;
  const Program& program_;
  const Role& role_;
  const std::vector<SlotId>& roots_;
  std::size_t r_;
  bool has_replicas_ = false, has_whole_shards_ = false;
  std::map<SlotId, std::int64_t> writes_;  // shards, and how often a step writes each
  std::map<SlotId, State> states_;         // roots, in the call that is followed
};

}  // namespace

void check_scattered_gradients(const ProgramFacts& facts, std::size_t role, Violations& v) {
  ScatteredGradients(facts, role).check(v);
}

}  // namespace windtunnel
