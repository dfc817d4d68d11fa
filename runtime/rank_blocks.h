#pragma once
// One rank's memory on a device, as its host keeps it: which block each live instance of a slot
// has.
//
// A static or scratch slot has one instance, a frame slot one per micro-batch. Views resolve
// through their parents to a part of a root slot's block. Bytes are the program's on a device that
// stores its types; a proof in another number type takes eight bytes an element.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "kernels/device/device.h"
#include "program/mesh.h"
#include "program/program.h"
#include "runtime/device_call.h"
#include "runtime/execution.h"
#include "runtime/host_blocks.h"
#include "runtime/memory_range.h"

namespace windtunnel {

/// How elements are stored.
enum class Storage : std::uint8_t { as_program, eight_bytes };

/// Bytes of one element of `type`; 0 when the storage cannot hold it.
constexpr std::int64_t stored_bytes(Storage storage, Dtype type) {
  if (storage == Storage::eight_bytes) return 8;
  switch (type) {
    case Dtype::fp32:
    case Dtype::int64:
    case Dtype::uint8:
      return bits_of(type) / 8;
    default:
      return 0;
  }
}

/// The first slot of the program whose type a device cannot store as it is, as "slot 'x' is bf16".
std::optional<std::string> find_unstorable(const Program& program);

using CategoryBytes = std::array<std::int64_t, static_cast<std::size_t>(Category::count)>;

/// The fullest moment of a device: what the allocator had handed out, and what the program asked
/// for then, by category; the difference is rounding.
struct DevicePeak {
  std::int64_t allocated_bytes = 0, reserved_bytes = 0;
  CategoryBytes by_category{};
  std::int64_t host_bytes = 0;  // most that its offloaded tensors took of the host's memory
};

class RankBlocks {
 public:
  RankBlocks(const Program& program, const Role& role, const Coordinates& at, Storage storage)
      : program_(&program), role_(&role), at_(at), storage_(storage) {}

  MemoryRange resolve(SlotId id, std::int32_t micro_batch) const {
    return resolve_range(*program_, *role_, at_, {id, micro_batch});
  }
  /// Where a resolved range lies. Throws ExecutionError when its slot is not allocated.
  OperandBlock block(const MemoryRange& range) const;

  /// Throws ExecutionError when it is allocated already, OutOfDeviceMemory.
  void take(const MemoryRange& range, Device& device);
  void give_back(const MemoryRange& range, Device& device);

  /// Since the last call of it, or since the beginning.
  DevicePeak take_peak();

 private:
  static std::uint64_t key(const MemoryRange& range) {
    return (std::uint64_t{range.root} << 32) | static_cast<std::uint32_t>(range.micro_batch);
  }
  const Slot& slot(SlotId id) const { return role_->slots[id]; }
  std::int64_t bytes(const Slot& s) const;

  const Program* program_;
  const Role* role_;
  Coordinates at_;
  Storage storage_;
  std::unordered_map<std::uint64_t, char*> blocks_;
  HostBlocks host_blocks_;
  std::int64_t host_bytes_ = 0;
  CategoryBytes by_category_{};
  DevicePeak peak_;
};

}  // namespace windtunnel
