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
      if (i.action == Action::record) recorded.push_back(i.event);
      if (!waits(i)) continue;
      const bool before = std::find(recorded.begin(), recorded.end(), i.event) != recorded.end();
      local[i.event] = local[i.event] && before;
    }
  }
  return local;
}

/// Whether nothing binds to the record at `at` but the wait right behind it.
bool is_hand_over(const std::vector<Instruction>& ops, std::size_t at) {
  if (at + 1 >= ops.size() || ops[at].action != Action::record) return false;
  if (ops[at + 1].action != Action::wait || ops[at + 1].event != ops[at].event) return false;
  if (ops[at].stream == ops[at + 1].stream) return false;
  for (std::size_t k = at + 2; k < ops.size(); ++k) {
    if (!names_event(ops[k]) || ops[k].event != ops[at].event) continue;
    return ops[k].action == Action::record;
  }
  return true;
}

void fuse_hand_overs(Code& block, const std::vector<bool>& local) {
  std::vector<Instruction> fused;
  fused.reserve(block.ops.size());
  for (std::size_t k = 0; k < block.ops.size(); ++k) {
    const Instruction& i = block.ops[k];
    if (names_event(i) && local[i.event] && is_hand_over(block.ops, k)) {
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

void assign_slots(const Role& role, RoleCode& code, const std::vector<bool>& local) {
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> place;  // (chunk or -1, event)
  std::uint32_t fixed = 0;
  code.frames.assign(role.chunks.size(), {});
  for (Code& block : code.code) {
    for (Instruction& i : block.ops) {
      if (!names_event(i)) continue;
      i.frame_event = role.events[i.event].per_frame && !local[i.event];
      CHECK(!i.frame_event || block.chunk >= 0, "frame events belong to calls with a frame");
      std::uint32_t& next =
          i.frame_event ? code.frames[static_cast<std::size_t>(block.chunk)].events : fixed;
      const auto [at, is_new] =
          place.try_emplace({i.frame_event ? block.chunk : -1, i.event}, next);
      if (is_new) ++next;
      i.event = at->second;
    }
  }
  int micro_batches = 0;
  for (const Call& call : role.calls) micro_batches = std::max(micro_batches, call.micro_batch + 1);
  code.event_slots = fixed;
  for (RoleCode::Frames& frames : code.frames) {
    frames.first_slot = code.event_slots;
    code.event_slots += frames.events * static_cast<std::uint32_t>(micro_batches);
  }
}

void mark_event_ops(Code& block) {
  for (std::size_t k = 0; k < block.ops.size(); ++k) {
    if (names_event(block.ops[k])) block.event_ops.push_back(static_cast<std::uint32_t>(k));
  }
}

/// Every event binds to its latest record in host order; counting the uses of each record ahead
/// lets the sweep drop a completion after its last use.
void count_uses(const Role& role, RoleCode& code) {
  std::vector<std::uint32_t> latest(code.event_slots, kNone);
  for (std::size_t c = 0; c < role.calls.size(); ++c) {
    const Code& called = code.code[code.code_of_call[c]];
    for (const std::uint32_t place : called.event_ops) {
      const Instruction& i = called.ops[place];
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
  for (Code& block : code.code) fuse_hand_overs(block, local);
  assign_slots(role, code, local);
  for (Code& block : code.code) mark_event_ops(block);
  count_uses(role, code);
}

}  // namespace windtunnel
