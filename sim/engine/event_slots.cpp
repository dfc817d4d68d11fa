#include "sim/engine/event_slots.h"

#include <algorithm>
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

/// First and last call that names a frame event of a micro-batch.
struct Life {
  std::size_t first = kNever, last = 0;
  static constexpr std::size_t kNever = static_cast<std::size_t>(-1);
};

/// [chunk][micro-batch]
std::vector<std::vector<Life>> find_lives(const Role& role, const RoleCode& code) {
  std::vector<std::vector<Life>> lives(role.chunks.size());
  for (std::size_t c = 0; c < role.calls.size(); ++c) {
    if (code.code[code.code_of_call[c]].frame_ops.empty()) continue;
    const Call& call = role.calls[c];
    if (call.chunk < 0 || call.micro_batch < 0) continue;
    std::vector<Life>& chunk = lives[static_cast<std::size_t>(call.chunk)];
    const auto m = static_cast<std::size_t>(call.micro_batch);
    if (m >= chunk.size()) chunk.resize(m + 1);
    chunk[m].first = std::min(chunk[m].first, c);
    chunk[m].last = c;
  }
  return lives;
}

/// The smallest w such that no micro-batch of the chunk names an event after micro-batch + w does.
std::uint32_t window_of(const std::vector<Life>& lives) {
  // [m]: the first call of any micro-batch from m on.
  std::vector<std::size_t> first_from(lives.size() + 1, Life::kNever);
  for (std::size_t m = lives.size(); m-- > 0;) {
    first_from[m] = std::min(first_from[m + 1], lives[m].first);
  }
  std::size_t window = 1;
  for (std::size_t m = 0; m < lives.size(); ++m) {
    while (m + window < lives.size() && first_from[m + window] <= lives[m].last) ++window;
  }
  return static_cast<std::uint32_t>(window);
}

void assign_slots(const Role& role, RoleCode& code, const std::vector<bool>& local) {
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> slots;  // (chunk or -1, event)
  std::uint32_t fixed = 0;
  code.frames.assign(role.chunks.size(), {});
  for (Code& block : code.code) {
    for (Instruction& i : block.ops) {
      if (!names_event(i)) continue;
      i.frame_event = role.events[i.place].per_frame && !local[i.place];
      CHECK(!i.frame_event || block.chunk >= 0, "frame events belong to calls with a frame");
      std::uint32_t& next =
          i.frame_event ? code.frames[static_cast<std::size_t>(block.chunk)].events : fixed;
      const auto [at, is_new] =
          slots.try_emplace({i.frame_event ? block.chunk : -1, i.place}, next);
      if (is_new) ++next;
      i.place = at->second;
    }
  }
  code.event_slots = fixed;
  const std::vector<std::vector<Life>> lives = find_lives(role, code);
  for (std::size_t chunk = 0; chunk < code.frames.size(); ++chunk) {
    RoleCode::Frames& frames = code.frames[chunk];
    frames.window = window_of(lives[chunk]);
    frames.first_slot = code.event_slots;
    code.event_slots += frames.events * frames.window;
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
      std::uint32_t& record = latest[event_slot(code, role.calls[c], i)];
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
