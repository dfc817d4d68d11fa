#pragma once
// What a rank is doing, readable by others while it does it: plain atomics that also work in memory
// shared between processes.

#include <atomic>
#include <cstdint>

namespace windtunnel {

struct RankProgress {
  std::atomic<std::int64_t> step{-1};
  std::atomic<std::uint64_t> issued{0};       // ops the host has handed out since the start
  std::atomic<std::uint64_t> finished{0};     // ops that streams have finished
  std::atomic<std::uint32_t> call{0}, op{0};  // the op that a stream began last
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace windtunnel
