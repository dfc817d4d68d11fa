// Is every piece of memory taken once, used only in between, and given back?

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "program/slot_life.h"
#include "program/verify_checks.h"

namespace windtunnel {

namespace {

/// One role: lives of its segments are followed once per variant of its calls, then what is taken
/// for a part of a step along all calls, and frames once per distinct sequence of calls that a
/// micro-batch makes on its chunk.
class RoleMemory {
 public:
  RoleMemory(const ProgramFacts& facts, std::size_t role)
      : facts_(facts), program_(facts.program), role_(program_.roles[role]), r_(role) {}

  void check(Violations& v) {
    SlotLives lives(facts_, r_);
    static_from_.assign(role_.slots.size(), kNever);
    for (const Call& call : role_.prologue) take_statics(lives.run(call, 0, v), v);
    for (const CallVariant& variant : facts_.roles[r_].variants) {
      if (facts_.segments[variant.call.segment].by_step) {
        first_step(variant, lives.run(variant.call, 0, v), v);
        later_.push_back(lives.run(variant.call, 1, v));
      } else {
        later_.push_back(lives.run(variant.call, 1, v));
      }
    }
    check_statics(v);
    check_step(v);
    check_frames(v);
  }

 private:
  enum Life : std::uint8_t { kNotYet, kLive, kOver };

  static constexpr std::int64_t kNever = -1;  // static_from_: not taken
  static constexpr std::int64_t kPrologue = 0;

  const Slot& slot(SlotId id) const { return role_.slots[id]; }
  std::string name(SlotId id) const { return slot_text(program_, role_, id); }

  /// Where the statics a call takes in the prologue are from.
  void take_statics(const SegmentLife& life, Violations& v) {
    for (const SlotEffect& e : life.effects) {
      if (slot(e.slot).space != Space::statics)
        v.add(fmt::format("role {} prologue: {} is not static", r_, name(e.slot)));
      if (e.needs && static_from_[e.slot] == kNever)
        v.add(fmt::format("role {} prologue: {} is used before it is taken", r_, name(e.slot)));
      if (!e.needs && static_from_[e.slot] != kNever)
        v.add(fmt::format("role {} prologue: {} is taken a second time", r_, name(e.slot)));
      if (!e.live_after)
        v.add(fmt::format("role {} prologue: {} is static and given back", r_, name(e.slot)));
      static_from_[e.slot] = kPrologue;
    }
  }

  /// Statics that the first step takes: they exist from their place in it.
  void first_step(const CallVariant& variant, const SegmentLife& life, Violations& v) {
    for (const SlotEffect& e : life.effects) {
      if (slot(e.slot).space != Space::statics || e.needs) continue;
      if (static_from_[e.slot] != kNever || variant.count != 1)
        v.add(fmt::format("{}: {} is taken a second time",
                          place_text(program_, {r_, variant.first_call, e.op}), name(e.slot)));
      static_from_[e.slot] = order_of(variant.first_call, e.op);
    }
  }

  /// A number that grows along the host's issue order of one step; above kPrologue.
  static std::int64_t order_of(std::uint32_t call, std::uint32_t op) {
    return (std::int64_t{call} << 32) + op + 1;
  }

  void check_statics(Violations& v) {
    for (std::size_t i = 0; i < later_.size(); ++i) {
      const CallVariant& variant = facts_.roles[r_].variants[i];
      for (const SlotEffect& e : later_[i].effects) {
        if (slot(e.slot).space != Space::statics) continue;
        const char* why = nullptr;
        if (!e.needs) {
          why = "is static and taken in every step";
        } else if (static_from_[e.slot] == kNever) {
          why = "is never taken";
        } else if (static_from_[e.slot] > order_of(variant.first_call, e.op)) {
          why = "is used before the first step takes it";
        } else if (!e.live_after) {
          why = "is static and given back";
        }
        if (why != nullptr)
          v.add(fmt::format("{}: {} {}", place_text(program_, {r_, variant.first_call, e.op}),
                            name(e.slot), why));
      }
    }
  }

  // --- memory of a part of a step ---

  /// One instance, followed along the calls of a step that is not the first.
  void check_step(Violations& v) {
    const bool some = std::any_of(role_.slots.begin(), role_.slots.end(), [](const Slot& s) {
      return s.space == Space::step && s.parent == kNone;
    });
    if (!some) return;
    std::vector<Life> live(role_.slots.size(), kNotYet);
    std::vector<std::pair<SlotId, std::uint32_t>> taken;  // with the call
    for (std::uint32_t i = 0; i < role_.calls.size(); ++i) {
      for (const SlotEffect& e : later_[facts_.roles[r_].variant_of_call[i]].effects) {
        if (slot(e.slot).space != Space::step) continue;
        const char* why = nullptr;
        if (e.needs && live[e.slot] == kNotYet) why = "is used before it is taken";
        if (e.needs && live[e.slot] == kOver) why = "is used after it was given back";
        if (!e.needs && live[e.slot] == kLive) why = "is taken a second time";
        if (why != nullptr)
          v.add(fmt::format("{}: {} {}", place_text(program_, {r_, i, e.op}), name(e.slot), why));
        if (e.live_after && live[e.slot] != kLive) taken.emplace_back(e.slot, i);
        live[e.slot] = e.live_after ? kLive : kOver;
      }
    }
    std::sort(taken.begin(), taken.end());
    SlotId reported = kNone;
    for (const auto& [id, call] : taken) {
      if (live[id] == kLive && id != std::exchange(reported, id))
        v.add(fmt::format("{}: {} is taken and never given back", call_text(program_, r_, call),
                          name(id)));
    }
  }

  // --- frames ---

  struct Frame {
    std::uint64_t sequence = 0;  // hash of the variants of its calls, in order
    bool followed = false;       // stands for its sequence
  };

  void check_frames(Violations& v) {
    find_hand_overs();
    hash_sequences();
    choose_frames();
    const std::vector<Call>& calls = role_.calls;
    const std::vector<std::uint32_t>& variant_of = facts_.roles[r_].variant_of_call;
    std::vector<std::vector<std::uint32_t>> followed(frames_.size());
    for (std::uint32_t i = 0; i < calls.size(); ++i) {
      if (calls[i].chunk < 0) continue;
      const std::size_t f = frame_of(calls[i]);
      if (frames_[f].followed) followed[f].push_back(i);
    }
    for (std::size_t i = 0; i < later_.size(); ++i) {
      const CallVariant& variant = facts_.roles[r_].variants[i];
      if (variant.call.chunk >= 0) continue;
      for (const SlotEffect& e : later_[i].effects) {
        if (slot(e.slot).space == Space::frame)
          v.add(fmt::format("{}: {} lives in a frame and the call has none",
                            place_text(program_, {r_, variant.first_call, e.op}), name(e.slot)));
      }
    }
    live_.assign(role_.slots.size(), kNotYet);
    for (const std::vector<std::uint32_t>& sequence : followed) follow(sequence, variant_of, v);
  }

  /// Where chunks of the role hand tensors to each other, the frames of a micro-batch on all of
  /// them are followed together.
  void find_hand_overs() {
    for (std::size_t i = 0; i < later_.size(); ++i) hands_over_ |= is_hand_over(i);
  }

  bool is_hand_over(std::size_t variant) const {
    return facts_.segments[facts_.roles[r_].variants[variant].call.segment].hands_over;
  }

  std::size_t frame_of(const Call& call) const {
    const std::int64_t chunk = hands_over_ ? 0 : call.chunk;
    return static_cast<std::size_t>(chunk * program_.job.micro_batches + call.micro_batch);
  }

  void hash_sequences() {
    frames_.assign(role_.chunks.size() * static_cast<std::size_t>(program_.job.micro_batches), {});
    for (std::size_t i = 0; i < role_.calls.size(); ++i) {
      if (role_.calls[i].chunk < 0) continue;
      std::uint64_t& h = frames_[frame_of(role_.calls[i])].sequence;
      // Multiplicative hashing by the 64-bit golden ratio (Knuth, TAOCP vol. 3, 6.4).
      h = (h + facts_.roles[r_].variant_of_call[i] + 1) * 0x9e3779b97f4a7c15ULL;
      h ^= h >> 29;
    }
  }

  /// The first frame of each distinct sequence; segments belong to chunks, so sequences of two
  /// chunks differ.
  void choose_frames() {
    std::vector<std::uint64_t> seen;
    for (Frame& f : frames_) {
      const auto it = std::find(seen.rbegin(), seen.rend(), f.sequence);
      f.followed = it == seen.rend();
      if (f.followed) seen.push_back(f.sequence);
    }
  }

  void follow(const std::vector<std::uint32_t>& calls, const std::vector<std::uint32_t>& variant_of,
              Violations& v) {
    touched_.clear();
    for (const std::uint32_t i : calls) {
      for (const SlotEffect& e : later_[variant_of[i]].effects) {
        if (slot(e.slot).space != Space::frame) continue;
        const char* why = nullptr;
        if (slot(e.slot).chunk != role_.calls[i].chunk && !is_hand_over(variant_of[i]))
          why = "belongs to another chunk";
        if (e.needs && live_[e.slot] == kNotYet) why = "is used before it is taken";
        if (e.needs && live_[e.slot] == kOver) why = "is used after it was given back";
        if (!e.needs && live_[e.slot] != kNotYet) why = "is taken a second time";
        if (why != nullptr)
          v.add(fmt::format("{}: {} {}", place_text(program_, {r_, i, e.op}), name(e.slot), why));
        if (live_[e.slot] == kNotYet) touched_.push_back({e.slot, i});
        live_[e.slot] = e.live_after ? kLive : kOver;
      }
    }
    for (const auto& [id, call] : touched_) {
      if (live_[id] == kLive)
        v.add(fmt::format("{}: {} is taken and never given back", call_text(program_, r_, call),
                          name(id)));
      live_[id] = kNotYet;
    }
  }

  const ProgramFacts& facts_;
  const Program& program_;
  const Role& role_;
  std::size_t r_;
  bool hands_over_ = false;                // frames of several chunks in one call
  std::vector<SegmentLife> later_;         // by variant, in every step but the first
  std::vector<std::int64_t> static_from_;  // by slot: kNever, kPrologue or order_of its place
  std::vector<Frame> frames_;              // by chunk and micro-batch
  std::vector<Life> live_;                 // by slot, of the frame that is followed
  std::vector<std::pair<SlotId, std::uint32_t>> touched_;  // with the call that touched it first
};

}  // namespace

std::vector<std::string> check_memory(const ProgramFacts& facts) {
  Violations v;
  for (std::size_t r = 0; r < facts.program.roles.size(); ++r) RoleMemory(facts, r).check(v);
  return v.take();
}

}  // namespace windtunnel
