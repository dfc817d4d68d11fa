#include "sim/engine/event_slots.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "core/check.h"

namespace windtunnel {

namespace {

bool waits(const Instruction& i) {
  return i.action == Action::wait || i.action == Action::host_sync;
}

bool names_event(const Instruction& i) {
  return i.action == Action::record || waits(i);
}

/// Of each event: whether every wait comes after a record in the same code.
std::vector<bool> find_local(const Role& role, const RoleCode& code) {
  std::vector<bool> local(role.events.size(), true);
  for (const Code& block : code.code) {
    std::vector<std::uint32_t> recorded;
    for (const Instruction& i : block.ops) {
      if (i.action == Action::record) recorded.push_back(i.place);
      if (!waits(i)) continue;
      const bool before = std::find(recorded.begin(), recorded.end(), i.place) != recorded.end();
      local[i.place] = local[i.place] && before;
    }
  }
  return local;
}

/// Whether nothing binds to the record at `at` but the wait right behind it.
bool is_hand_over(const std::vector<Instruction>& ops, std::size_t at) {
  if (at + 1 >= ops.size() || ops[at].action != Action::record) return false;
  if (ops[at + 1].action != Action::wait || ops[at + 1].place != ops[at].place) return false;
  if (ops[at].stream == ops[at + 1].stream) return false;
  for (std::size_t k = at + 2; k < ops.size(); ++k) {
    if (!names_event(ops[k]) || ops[k].place != ops[at].place) continue;
    return ops[k].action == Action::record;
  }
  return true;
}

void fuse_hand_overs(Code& block, const std::vector<bool>& local) {
  std::vector<Instruction> fused;
  fused.reserve(block.ops.size());
  for (std::size_t k = 0; k < block.ops.size(); ++k) {
    const Instruction& i = block.ops[k];
    if (names_event(i) && local[i.place] && is_hand_over(block.ops, k)) {
      Instruction follow = block.ops[++k];
      follow.action = Action::follow;
      follow.followed = i.stream;
      fused.push_back(follow);
    } else {
      fused.push_back(i);
    }
  }
  block.ops = std::move(fused);
}

/// Uses of a local record: the waits up to the next record of the event in the same code.
std::uint32_t uses_in_block(const std::vector<Instruction>& ops, std::size_t record) {
  std::uint32_t uses = 0;
  for (std::size_t k = record + 1; k < ops.size(); ++k) {
    if (!names_event(ops[k]) || ops[k].place != ops[record].place) continue;
    if (ops[k].action == Action::record) break;
    ++uses;
  }
  return uses;
}

void note_uses(Code& block, const std::vector<bool>& local) {
  for (std::size_t k = 0; k < block.ops.size(); ++k) {
    Instruction& i = block.ops[k];
    if (!names_event(i)) continue;
    if (!local[i.place]) {
      i.uses = kCountedUses;
      block.frame_ops.push_back(static_cast<std::uint32_t>(k));
    } else if (i.action == Action::record) {
      i.uses = uses_in_block(block.ops, k);
    }
  }
}

/// First and last call that names a frame event for a micro-batch.
struct Life {
  static constexpr std::size_t kNever = static_cast<std::size_t>(-1);
  std::size_t first = kNever, last = 0;
};
using Lives = std::vector<Life>;  // [micro-batch]

/// log2 of the smallest power of two w such that the event is not named for a micro-batch after it
/// is for micro-batch + w.
std::uint8_t window_bits(const Lives& lives) {
  // [m]: the first call of any micro-batch from m on.
  std::vector<std::size_t> first_from(lives.size() + 1, Life::kNever);
  for (std::size_t m = lives.size(); m-- > 0;) {
    first_from[m] = std::min(first_from[m + 1], lives[m].first);
  }
  std::size_t window = 1;
  for (std::size_t m = 0; m < lives.size(); ++m) {
    while (m + window < lives.size() && first_from[m + window] <= lives[m].last) ++window;
  }
  return static_cast<std::uint8_t>(std::bit_width(window - 1));
}

/// `place` of frame events becomes a number per (chunk, event), that of the others their slot.
std::size_t number_events(const Role& role, RoleCode& code, const std::vector<bool>& local) {
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> of_frame;
  std::map<std::uint32_t, std::uint32_t> fixed;
  for (Code& block : code.code) {
    for (Instruction& i : block.ops) {
      if (!names_event(i)) continue;
      i.frame_event = role.events[i.place].per_frame && !local[i.place];
      CHECK(!i.frame_event || block.chunk >= 0, "frame events belong to calls with a frame");
      if (i.frame_event) {
        const auto next = static_cast<std::uint32_t>(of_frame.size());
        i.place = of_frame.try_emplace({block.chunk, i.place}, next).first->second;
      } else {
        const auto next = static_cast<std::uint32_t>(fixed.size());
        i.place = fixed.try_emplace(i.place, next).first->second;
      }
    }
  }
  code.event_slots = static_cast<std::uint32_t>(fixed.size());
  return of_frame.size();
}

/// [number of the frame event]
std::vector<Lives> find_lives(const Role& role, const RoleCode& code, std::size_t frame_events) {
  int micro_batches = 0;
  for (const Call& call : role.calls) micro_batches = std::max(micro_batches, call.micro_batch + 1);
  std::vector<Lives> lives(frame_events, Lives(static_cast<std::size_t>(micro_batches)));
  for (std::size_t c = 0; c < role.calls.size(); ++c) {
    const Code& called = code.code[code.code_of_call[c]];
    for (const std::uint32_t at : called.frame_ops) {
      if (!called.ops[at].frame_event) continue;
      const auto m = static_cast<std::size_t>(role.calls[c].micro_batch);
      Life& life = lives[called.ops[at].place][m];
      life.first = std::min(life.first, c);
      life.last = c;
    }
  }
  return lives;
}

void assign_slots(const Role& role, RoleCode& code, const std::vector<bool>& local) {
  const std::size_t frame_events = number_events(role, code, local);
  std::vector<std::uint8_t> bits;
  std::vector<std::uint32_t> first_slot;
  for (const Lives& lives : find_lives(role, code, frame_events)) {
    bits.push_back(window_bits(lives));
    first_slot.push_back(code.event_slots);
    code.event_slots += std::uint32_t{1} << bits.back();
  }
  for (Code& block : code.code) {
    for (Instruction& i : block.ops) {
      if (!names_event(i) || !i.frame_event) continue;
      i.window_bits = bits[i.place];
      i.place = first_slot[i.place];
    }
  }
}

/// Every event binds to its latest record in host order; counting the uses of each record ahead
/// lets the sweep drop a completion after its last use.
void count_uses(const Role& role, RoleCode& code) {
  std::vector<std::uint32_t> latest(code.event_slots, kNone);
  for (std::size_t c = 0; c < role.calls.size(); ++c) {
    const Code& called = code.code[code.code_of_call[c]];
    for (const std::uint32_t at : called.frame_ops) {
      const Instruction& i = called.ops[at];
      std::uint32_t& record = latest[event_slot(role.calls[c], i)];
      if (i.action == Action::record) {
        record = static_cast<std::uint32_t>(code.uses_of_record.size());
        code.uses_of_record.push_back(0);
      } else if (record != kNone) {
        ++code.uses_of_record[record];
      }
    }
  }
}

}  // namespace

void place_events(const Role& role, RoleCode& code) {
  const std::vector<bool> local = find_local(role, code);
  for (Code& block : code.code) {
    fuse_hand_overs(block, local);
    note_uses(block, local);
  }
  assign_slots(role, code, local);
  count_uses(role, code);
}

}  // namespace windtunnel
