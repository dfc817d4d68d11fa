// Is every use of a slot ordered with the uses it depends on?
//
// Two ops on different streams are ordered when a record after the first is waited for before the
// second, directly or over other streams: what a vector clock per stream tells. The allocator hands
// a freed block to later work of its pool's stream without waiting, so taking and giving back
// memory count as writes by the last op that stream was given. Only memory that several streams
// touch is followed. A root counts as one piece, whatever parts its views are, unless it is cut
// among the tp ranks: parts that lie at different places on every rank are followed one by one.
//
// Small programs run for two steps, so that static memory is followed over the border. In large
// ones each role runs its last calls of one step and its first of the next, then some from the
// middle: what is left out can hide a violation, never invent one.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "program/event_uses.h"
#include "program/op_names.h"
#include "program/verify_checks.h"

namespace windtunnel {

namespace {

constexpr std::size_t kStreams = static_cast<std::size_t>(Stream::count);
constexpr std::size_t kSmallProgram = 200'000;  // op executions of a step: a few ms for two steps
constexpr std::size_t kWindowCalls = 2048;      // of all roles together in one window

using Clock = std::array<std::uint32_t, kStreams>;  // by stream: its last op known to be over

std::size_t index_of(Stream s) {
  return static_cast<std::size_t>(s);
}

struct TrackedAccess {
  std::uint32_t slot = 0;                  // into RoleHazards::tracked_
  std::uint32_t piece = 0, end_piece = 1;  // of its instance
  bool writes = false;
};

struct TrackedOp {
  OpKind kind = OpKind::compute;
  Stream stream = Stream::compute;
  When when = When::always;
  bool follows_others = false;  // ops that touch no tracked memory stand before it on its stream
  std::uint32_t op = 0;
  EventPlace event;
  OpRange accesses;
};

/// A root that several streams touch, and where its instances' uses are kept.
struct Tracked {
  SlotId root = 0;
  std::uint32_t first = 0;  // into uses_of_
  std::uint32_t pieces = 1;
  bool per_frame = false;
};

/// Latest uses of one instance of a slot; times are positions on the stream, 0 for never.
struct Uses {
  Clock read{};
  std::uint32_t written = 0;
  Stream writer = Stream::compute;
  std::uint32_t call = 0, op = 0;  // of the write
};

struct Window {
  int step = 0;
  std::size_t begin = 0, end = 0;  // calls
  bool forgets = false;            // everything before it is taken to be over
};

class RoleHazards {
 public:
  RoleHazards(const ProgramFacts& facts, std::size_t role)
      : facts_(facts), program_(facts.program), role_(program_.roles[role]), r_(role) {
    find_shared_memory();
    const EventUses uses(facts, role);
    std::vector<RegisterNeed> needs(role_.events.size());
    for (std::uint32_t e = 0; e < needs.size(); ++e) needs[e] = uses.need(e);
    registers_ = number_registers(facts, role, needs);
    for (const CallVariant& variant : facts.roles[role].variants) compile(variant);
  }

  void check(const std::vector<Window>& windows, Violations& v) {
    for (const Window& w : windows) {
      if (w.forgets || recorded_.empty()) forget();
      for (std::size_t i = w.begin; i < w.end; ++i) run(static_cast<std::uint32_t>(i), w.step, v);
    }
  }

 private:
  void find_shared_memory() {
    const std::vector<SlotId>& roots = facts_.roles[r_].roots;
    std::vector<std::uint16_t> streams(role_.slots.size(), 0);
    std::vector<bool> cut(role_.slots.size(), false);
    for (const CallVariant& variant : facts_.roles[r_].variants) {
      for (const Op& op : program_.ops_of(variant.call)) {
        for (const SlotId id : program_.operands(op)) {
          streams[roots[id]] |= static_cast<std::uint16_t>(1u << index_of(op.stream));
          if (is_tp_part(id)) cut[roots[id]] = true;
        }
      }
    }
    tracked_of_.assign(role_.slots.size(), kNone);
    const auto m = static_cast<std::uint32_t>(program_.job.micro_batches);
    for (SlotId id = 0; id < streams.size(); ++id) {
      if ((streams[id] & (streams[id] - 1)) == 0) continue;
      tracked_of_[id] = static_cast<std::uint32_t>(tracked_.size());
      const bool per_frame = role_.slots[id].space == Space::frame;
      const auto pieces = cut[id] ? static_cast<std::uint32_t>(program_.mesh.tp) : 1U;
      tracked_.push_back(
          {.root = id, .first = instances_, .pieces = pieces, .per_frame = per_frame});
      instances_ += pieces * (per_frame ? m : 1);
    }
  }

  /// Whether the slot is one of the equal parts that its parent, a root, is cut into among tp
  /// ranks.
  bool is_tp_part(SlotId id) const {
    const Slot& s = role_.slots[id];
    if (s.parent == kNone || s.tp_stride == 0 || s.offset != 0 || s.dp_stride != 0) return false;
    const Slot& whole = role_.slots[s.parent];
    return whole.parent == kNone && s.tp_stride == s.elements &&
           s.elements * program_.mesh.tp == whole.elements;
  }

  /// Ops that touch no tracked memory only move their stream on: one step for many is enough, when
  /// something looks at where the stream stands.
  void compile(const CallVariant& variant) {
    const auto begin = static_cast<std::uint32_t>(ops_.size());
    const Segment& segment = program_.segments[variant.call.segment];
    std::array<bool, kStreams> moved{};
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      const Op& op = program_.ops[i];
      TrackedOp t{.kind = op.kind, .stream = op.stream, .when = op.when, .op = i};
      t.accesses = accesses_of(op);
      const bool looked_at = names_event(op) || t.accesses.begin != t.accesses.end;
      if (!looked_at && op.when == When::always) {
        moved[index_of(op.stream)] |= takes_time(op);
        continue;
      }
      if (names_event(op)) t.event = registers_.places[op.event];
      t.follows_others = std::exchange(moved[index_of(op.stream)], false);
      ops_.push_back(t);
    }
    for (std::size_t s = 0; s < kStreams; ++s) {
      if (moved[s]) ops_.push_back({.stream = static_cast<Stream>(s), .op = segment.op_end - 1});
    }
    of_variant_.push_back({begin, static_cast<std::uint32_t>(ops_.size())});
  }

  static bool takes_time(const Op& op) {
    return op.kind != OpKind::alloc && op.kind != OpKind::free && !names_event(op);
  }

  OpRange accesses_of(const Op& op) {
    const auto begin = static_cast<std::uint32_t>(accesses_.size());
    const bool memory = op.kind == OpKind::alloc || op.kind == OpKind::free;
    for (std::size_t n = 0; n < op.refs; ++n) {
      const SlotId id = program_.operands(op)[n];
      const std::uint32_t t = tracked_of_[facts_.roles[r_].roots[id]];
      if (t == kNone) continue;
      TrackedAccess access{
          .slot = t, .end_piece = tracked_[t].pieces, .writes = memory || n >= op.inputs};
      if (is_tp_part(id)) {
        access.piece = static_cast<std::uint32_t>(role_.slots[id].tp_back);
        access.end_piece = access.piece + 1;
      }
      accesses_.push_back(access);
    }
    return {begin, static_cast<std::uint32_t>(accesses_.size())};
  }

  void forget() {
    now_ = {};
    recorded_.assign(registers_.count, kNone);
    clocks_.clear();
    uses_of_.assign(instances_, kNone);
    uses_.clear();
  }

  void run(std::uint32_t at, int step, Violations& v) {
    const Call& call = role_.calls[at];
    const OpRange range = of_variant_[facts_.roles[r_].variant_of_call[at]];
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const TrackedOp& t = ops_[i];
      if (t.when != When::always && !runs(program_.ops[t.op], call, step)) continue;
      run(t, call, at, v);
    }
  }

  void run(const TrackedOp& t, const Call& call, std::uint32_t at, Violations& v) {
    Clock& clock = now_[index_of(t.stream)];
    if (t.follows_others) ++clock[index_of(t.stream)];
    switch (t.kind) {
      case OpKind::record:
        return record(t.event.of(call), clock);
      case OpKind::wait:
        return join(clock, t.event.of(call));
      case OpKind::host_sync:
        for (Clock& every : now_) join(every, t.event.of(call));
        return;
      case OpKind::alloc:
      case OpKind::free:
        break;
      default:
        ++clock[index_of(t.stream)];
    }
    for (std::uint32_t a = t.accesses.begin; a < t.accesses.end; ++a) {
      const TrackedAccess& access = accesses_[a];
      for (std::uint32_t piece = access.piece; piece < access.end_piece; ++piece)
        use({.slot = access.slot, .piece = piece, .writes = access.writes}, t, at, v);
    }
  }

  void record(std::uint32_t reg, const Clock& clock) {
    if (recorded_[reg] == kNone) {
      recorded_[reg] = static_cast<std::uint32_t>(clocks_.size());
      clocks_.emplace_back();
    }
    clocks_[recorded_[reg]] = clock;
  }

  void join(Clock& clock, std::uint32_t reg) const {
    if (recorded_[reg] == kNone) return;
    const Clock& other = clocks_[recorded_[reg]];
    for (std::size_t s = 0; s < kStreams; ++s) clock[s] = std::max(clock[s], other[s]);
  }

  Uses& uses_of(const Tracked& slot, const Call& call, std::uint32_t piece) {
    const std::uint32_t frame = slot.per_frame ? static_cast<std::uint32_t>(call.micro_batch) : 0;
    std::uint32_t& index = uses_of_[slot.first + frame * slot.pieces + piece];
    if (index == kNone) {
      index = static_cast<std::uint32_t>(uses_.size());
      uses_.emplace_back();
    }
    return uses_[index];
  }

  void use(const TrackedAccess& access, const TrackedOp& t, std::uint32_t at, Violations& v) {
    const Tracked& slot = tracked_[access.slot];
    Uses& uses = uses_of(slot, role_.calls[at], access.piece);
    const Clock& clock = now_[index_of(t.stream)];
    if (clock[index_of(uses.writer)] < uses.written)
      report(slot, t, at, v,
             fmt::format("{} may still write it: {}", name_of(uses.writer),
                         place_text(program_, {r_, uses.call, uses.op})));
    if (!access.writes) {
      uses.read[index_of(t.stream)] = clock[index_of(t.stream)];
      return;
    }
    for (std::size_t s = 0; s < kStreams; ++s) {
      if (clock[s] < uses.read[s])
        report(slot, t, at, v,
               fmt::format("{} may still read it", name_of(static_cast<Stream>(s))));
    }
    uses = {.written = clock[index_of(t.stream)], .writer = t.stream, .call = at, .op = t.op};
  }

  void report(const Tracked& slot, const TrackedOp& t, std::uint32_t at, Violations& v,
              const std::string& what) const {
    v.add(fmt::format("{}: uses {} while stream {}", place_text(program_, {r_, at, t.op}),
                      slot_text(program_, role_, slot.root), what));
  }

  const ProgramFacts& facts_;
  const Program& program_;
  const Role& role_;
  std::size_t r_;
  std::vector<Tracked> tracked_;
  std::vector<std::uint32_t> tracked_of_;  // by root
  std::uint32_t instances_ = 0;
  EventRegisters registers_;
  std::vector<TrackedOp> ops_;
  std::vector<OpRange> of_variant_;
  std::vector<TrackedAccess> accesses_;
  std::array<Clock, kStreams> now_{};    // by stream
  std::vector<std::uint32_t> recorded_;  // by register, into clocks_
  std::vector<Clock> clocks_;
  std::vector<std::uint32_t> uses_of_;  // by instance, into uses_
  std::vector<Uses> uses_;
};

std::size_t executions_of(const ProgramFacts& facts) {
  std::size_t n = 0;
  for (const RoleFacts& role : facts.roles) {
    for (const CallVariant& v : role.variants) n += v.count * facts.program.ops_of(v.call).size();
  }
  return n;
}

std::vector<Window> windows_of(const ProgramFacts& facts, std::size_t role, bool small) {
  const std::size_t calls = facts.program.roles[role].calls.size();
  if (small) return {{.step = 0, .begin = 0, .end = calls}, {.step = 1, .begin = 0, .end = calls}};
  const std::size_t n =
      std::min(calls / 2, std::max<std::size_t>(64, kWindowCalls / facts.program.roles.size()));
  const std::size_t middle = calls / 2 - n / 2;
  return {{.step = 0, .begin = calls - n, .end = calls},
          {.step = 1, .begin = 0, .end = n},
          {.step = 1, .begin = middle, .end = middle + n, .forgets = true}};
}

}  // namespace

std::vector<std::string> check_hazards(const ProgramFacts& facts) {
  Violations v;
  const bool small = executions_of(facts) < kSmallProgram;
  for (std::size_t r = 0; r < facts.roles.size(); ++r)
    RoleHazards(facts, r).check(windows_of(facts, r, small), v);
  return v.take();
}

}  // namespace windtunnel
