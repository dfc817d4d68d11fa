#pragma once
// What one segment does to the memory of its role: which slots it needs, takes and leaves.
//
// Within a segment every slot's life is checked op by op; between segments only its effect counts,
// so that a role's calls are checked at the cost of their segments.

#include <vector>

#include "program/verify_facts.h"

namespace windtunnel {

/// A frame or static slot that a segment touches.
struct SlotEffect {
  SlotId slot = 0;          // a root
  std::uint32_t op = 0;     // the first op that touches it
  bool needs = false;       // must be taken before the segment; else the segment takes it
  bool live_after = false;  // still taken when the segment ends
};

struct SegmentLife {
  std::vector<SlotEffect> effects;  // in order of first touch
};

/// Follows the slots of one role through segments.
class SlotLives {
 public:
  SlotLives(const ProgramFacts& facts, std::size_t role);

  /// Runs the ops of `call` in step `step`. Reports scratch that is used untaken or not given back,
  /// slots taken or given back twice, and views that are taken or given back themselves.
  SegmentLife run(const Call& call, int step, Violations& violations);

 private:
  enum State : std::uint8_t { kUntouched, kNeeded, kTaken, kGivenBack };

  void touch(SlotId slot, std::uint32_t op);
  void take(SlotId slot, std::uint32_t op, Violations& v);
  void give_back(SlotId slot, std::uint32_t op, Violations& v);
  void use(SlotId slot, std::uint32_t op, Violations& v);
  void report(const char* what, SlotId slot, std::uint32_t op, Violations& v) const;

  const ProgramFacts& facts_;
  std::size_t role_;
  std::uint32_t segment_ = 0;
  std::vector<State> states_;  // by slot, of the segment that runs
  struct Touched {
    SlotId slot = 0;
    std::uint32_t op = 0;
    bool needs = false;
  };
  std::vector<Touched> touched_;
};

}  // namespace windtunnel
