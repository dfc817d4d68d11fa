#pragma once
// One rank's memory: the instances of its role's slots that are allocated now.
//
// A static or scratch slot has one instance, a frame slot one per micro-batch. Views resolve
// through their parents to a range of a root slot. Fresh memory is poisoned. A transfer that has
// been posted but not awaited leaves a `Pending` mark on the range it will write.

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/reference/number.h"
#include "program/mesh.h"
#include "program/program.h"
#include "runtime/execution.h"
#include "runtime/memory_range.h"
#include "runtime/message_board.h"

namespace windtunnel {

/// A transfer that will write [begin, end) of the instance.
struct Pending {
  Ticket ticket;
  std::int64_t begin = 0, end = 0;
};

template <class T>
struct Instance {
  std::vector<T> data;
  std::vector<Pending> pending;
};

template <class T>
class RankMemory {
 public:
  /// `granularity`: bytes each allocation is rounded up to in the counters.
  RankMemory(const Program& program, const Role& role, const Coordinates& at,
             std::int64_t granularity = 1)
      : program_(&program), role_(&role), at_(at), granularity_(granularity) {}

  const Slot& slot(SlotId id) const { return role_->slots[id]; }
  std::string name(SlotId id) const { return slot_name(*program_, *role_, id); }

  /// Where a slot lies in a call of this micro-batch.
  MemoryRange resolve(SlotId id, std::int32_t micro_batch) const {
    return resolve_range(*program_, *role_, at_, {id, micro_batch});
  }

  bool holds(const MemoryRange& range) const { return instances_.contains(key(range)); }

  Instance<T>& instance(const MemoryRange& range, SlotId named) {
    const auto found = instances_.find(key(range));
    if (found == instances_.end()) throw ExecutionError(name(named) + " is not allocated");
    return found->second;
  }

  T* data(const MemoryRange& range, SlotId named) {
    std::vector<T>& held = instance(range, named).data;
    // Made when first touched: what is only kept allocated, a large buffer say, takes no room.
    if (held.empty()) {
      held.assign(static_cast<std::size_t>(slot(range.root).elements),
                  reference::Number<T>::poison());
    }
    return held.data() + range.begin;
  }

  /// Pointer for reading: nothing in the range may still be poison.
  const T* written(const MemoryRange& range, SlotId named) {
    const T* from = data(range, named);
    for (std::int64_t i = 0; i < range.elements(); ++i) {
      if (reference::Number<T>::is_poison(from[i])) {
        throw ExecutionError("element " + std::to_string(i) + " of " + name(named) +
                             " was never written (or is not a number)");
      }
    }
    return from;
  }

  void take(const MemoryRange& range, SlotId named) {
    if (slot(named).parent != kNone) throw ExecutionError(name(named) + " is a view: not to alloc");
    if (!instances_.emplace(key(range), Instance<T>{}).second) {
      throw ExecutionError(name(named) + " is allocated already");
    }
    count(slot(named), 1);
  }

  void give_back(const MemoryRange& range, SlotId named) {
    if (instances_.erase(key(range)) == 0) throw ExecutionError(name(named) + " is not allocated");
    count(slot(named), -1);
  }

  /// Name of an instance of this space that is still allocated; empty: none.
  std::string leaked(Space space) const {
    std::uint64_t first = ~std::uint64_t{0};
    for (const auto& [k, unused] : instances_) {
      if (slot(static_cast<SlotId>(k >> 32)).space == space) first = std::min(first, k);
    }
    return first == ~std::uint64_t{0} ? "" : name(static_cast<SlotId>(first >> 32));
  }

  std::unordered_map<std::uint64_t, Instance<T>>& instances() { return instances_; }
  RankCounters& counters() { return counters_; }

 private:
  static std::uint64_t key(const MemoryRange& range) {
    return (std::uint64_t{range.root} << 32) | static_cast<std::uint32_t>(range.micro_batch);
  }

  void count(const Slot& s, int sign) {
    if (s.host) {
      counters_.host_bytes += sign * s.bytes();
      counters_.peak_host_bytes = std::max(counters_.peak_host_bytes, counters_.host_bytes);
      return;
    }
    const std::int64_t blocks = (s.bytes() + granularity_ - 1) / granularity_;
    const std::int64_t bytes = sign * blocks * granularity_;
    const auto c = static_cast<std::size_t>(s.category);
    counters_.allocated_bytes += bytes;
    counters_.allocated[c] += bytes;
    counters_.peak_bytes = std::max(counters_.peak_bytes, counters_.allocated_bytes);
    counters_.peak[c] = std::max(counters_.peak[c], counters_.allocated[c]);
  }

  const Program* program_;
  const Role* role_;
  Coordinates at_;
  std::int64_t granularity_;
  std::unordered_map<std::uint64_t, Instance<T>> instances_;
  RankCounters counters_;
};

}  // namespace windtunnel
