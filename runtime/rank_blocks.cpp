#include "runtime/rank_blocks.h"

#include <algorithm>

namespace windtunnel {

std::optional<std::string> find_unstorable(const Program& program) {
  for (const Role& role : program.roles) {
    for (const Slot& slot : role.slots) {
      if (stored_bytes(Storage::as_program, slot.dtype) > 0) continue;
      return "slot '" + program.names[slot.name] + "' is " + name_of(slot.dtype);
    }
  }
  return std::nullopt;
}

OperandBlock RankBlocks::block(const MemoryRange& range) const {
  const auto found = blocks_.find(key(range));
  if (found == blocks_.end()) {
    throw ExecutionError(slot_name(*program_, *role_, range.root) + " is not allocated");
  }
  return {.data = found->second + range.begin * stored_bytes(storage_, slot(range.root).dtype),
          .elements = range.elements()};
}

std::int64_t RankBlocks::bytes(const Slot& s) const {
  return s.elements * stored_bytes(storage_, s.dtype);
}

void RankBlocks::take(const MemoryRange& range, Device& device) {
  const Slot& s = slot(range.root);
  const auto [at, added] = blocks_.emplace(key(range), nullptr);
  if (!added) {
    throw ExecutionError(slot_name(*program_, *role_, range.root) + " is allocated already");
  }
  if (s.host) {
    at->second = host_blocks_.take(bytes(s), s.pool);
    host_bytes_ += bytes(s);
    peak_.host_bytes = std::max(peak_.host_bytes, host_bytes_);
    return;
  }
  at->second = static_cast<char*>(device.allocate(bytes(s), static_cast<int>(s.pool)));
  by_category_[static_cast<std::size_t>(s.category)] += bytes(s);
  if (device.memory().allocated > peak_.allocated_bytes) {
    peak_.allocated_bytes = device.memory().allocated;
    peak_.by_category = by_category_;
  }
  peak_.reserved_bytes = device.memory().peak_reserved;
}

void RankBlocks::give_back(const MemoryRange& range, Device& device) {
  const auto found = blocks_.find(key(range));
  if (found == blocks_.end()) {
    throw ExecutionError(slot_name(*program_, *role_, range.root) + " is not allocated");
  }
  const Slot& s = slot(range.root);
  char* const block = found->second;
  blocks_.erase(found);
  if (s.host) {
    host_blocks_.give_back(block, bytes(s), s.pool);
    host_bytes_ -= bytes(s);
    return;
  }
  device.deallocate(block);
  by_category_[static_cast<std::size_t>(s.category)] -= bytes(s);
}

DevicePeak RankBlocks::take_peak() {
  const DevicePeak peak = peak_;
  peak_ = {.allocated_bytes = 0,
           .reserved_bytes = peak.reserved_bytes,
           .by_category = {},
           .host_bytes = host_bytes_};
  return peak;
}

}  // namespace windtunnel
