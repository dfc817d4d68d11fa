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
        r_(role) {}

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
  /// Replica places that sums are over: `stride` apart, up to the first of the next group.
  struct Span {
    int stride = 1, end = 1;
  };
  Span span_of(const Comm& comm) const {
    return comm.ways == 0 ? Span{.end = replica_ranks(program_.mesh)}
                          : Span{.stride = comm.stride, .end = comm.ways * comm.stride};
  }
  /// Of experts that no other rank of a shard group holds.
  Span own_experts() const {
    const int ways = expert_ways(program_.mesh);
    return {.stride = ways, .end = ways};
  }
  /// What a reduction over `span` leaves, once more ranks of the same gradients were added.
  void reduced(SlotId id, const Span& span) {
    spans_[id] = span;
    states_[id] = span.end == replica_ranks(program_.mesh) ? State::reduced : State::scattered;
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
    const Span over = span_of(comm);
    if (has(in, State::scattered)) {
      if (over.stride != spans_[in].end)
        v.add(place_text(program_, at) + ": its members are not the replicas of the shard");
      return reduced(in, {.stride = spans_[in].stride, .end = over.end});
    }
    if (!has(in, State::input)) {
      if (writes_.contains(out))
        v.add(place_text(program_, at) + ": no gradients were packed into its input");
      return;
    }
    states_.erase(in);
    reduced(out, over);
    if (writes_.contains(out)) written(out, {at, out, count}, v);
  }

  /// What was reduced into `from` goes into a shard.
  struct Write {
    const OpPlace& at;
    SlotId from;
    std::uint32_t count;
  };
  void written(SlotId shard, const Write& write, Violations& v) {
    writes_[shard] += write.count;
    const auto span = spans_.find(write.from);
    if (span != spans_.end() && span->second.stride != role_.slots[shard].dp_step)
      v.add(place_text(program_, write.at) + ": reduced over ranks that hold other parameters");
  }

  void compute(const Op& op, const OpPlace& at, std::uint32_t count, Violations& v) {
    const bool reads_gradients = reads(op);
    // Experts that no other rank holds: what was packed is the shard.
    const bool passes_on = has_whole_shards_ && op.phase == Phase::grad_sync && op.refs > 1 &&
                           program_.shapes[op.shape].kernel == Kernel::copy &&
                           has(root(op, 0), State::input);
    if (passes_on) states_.erase(root(op, 0));
    for (std::size_t n = op.inputs; n < op.refs; ++n) {
      const SlotId out = root(op, n);
      if (writes_.contains(out) && op.phase != Phase::optimizer) {
        if (!has(root(op, 0), State::reduced) && !passes_on)
          v.add(place_text(program_, at) + ": adds what is not reduced over the whole dp group");
        // What was reduced is divided in place: no other gradient.
        const bool divides =
            program_.shapes[op.shape].kernel == Kernel::scale && root(op, 0) == out;
        if (!divides) written(out, {at, root(op, 0), count}, v);
        if (passes_on) reduced(out, own_experts());
      } else if (passes_on) {
        reduced(out, own_experts());
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
  bool has_whole_shards_ = false;
  std::map<SlotId, std::int64_t> writes_;  // shards, and how often a step writes each
  std::map<SlotId, State> states_;         // roots, in the call that is followed
  std::map<SlotId, Span> spans_;           // of those that are scattered or reduced
};

}  // namespace

void check_scattered_gradients(const ProgramFacts& facts, std::size_t role, Violations& v) {
  ScatteredGradients(facts, role).check(v);
}

}  // namespace windtunnel
