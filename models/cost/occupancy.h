#pragma once
// Occupancy of an SM and waves of a grid.
//
// An SM holds as many blocks as its threads, registers, shared memory and block slots allow:
//   blocks = min(slots, warps / warps per block, registers / (registers of a block),
//                shared / (shared of a block + reserve))
// occupancy = blocks * warps per block / warps. A grid of B blocks runs in ceil(B / (SMs blocks))
// waves. Registers are given to warps in units of 256 (8 a thread). Limits of compute
// capability 9.0: CUDA C programming guide, table of technical specifications. Oracles O-131,
// O-132.

#include <algorithm>
#include <cstdint>

namespace windtunnel {

struct SmLimits {
  int warps = 64;
  int blocks = 32;
  int registers = 65536;
  int shared_bytes = 228 * 1024;
  int shared_reserve = 1024;  // per block
};

struct BlockShape {
  int threads = 0;
  int registers_per_thread = 0;
  int shared_bytes = 0;
};

/// Precondition: 0 < threads <= 1024.
constexpr int blocks_per_sm(const SmLimits& sm, const BlockShape& block) {
  constexpr int kWarp = 32;
  constexpr int kRegisterUnit = 256;
  const int warps = (block.threads + kWarp - 1) / kWarp;
  int count = std::min(sm.blocks, sm.warps / warps);
  if (block.registers_per_thread > 0) {
    const int per_warp =
        (block.registers_per_thread * kWarp + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
    count = std::min(count, sm.registers / (per_warp * warps));
  }
  if (block.shared_bytes > 0) {
    count = std::min(count, sm.shared_bytes / (block.shared_bytes + sm.shared_reserve));
  }
  return count;
}

constexpr double occupancy(const SmLimits& sm, const BlockShape& block) {
  return static_cast<double>(blocks_per_sm(sm, block) * ((block.threads + 31) / 32)) / sm.warps;
}

/// Waves of `tiles` blocks, one at a time on each of `sms`. Precondition: sms > 0.
constexpr std::int64_t waves(std::int64_t tiles, int sms) {
  return (tiles + sms - 1) / sms;
}

/// Output tiles of an m x n product.
constexpr std::int64_t output_tiles(std::int64_t m, std::int64_t n, std::int64_t tile_m,
                                    std::int64_t tile_n) {
  return ((m + tile_m - 1) / tile_m) * ((n + tile_n - 1) / tile_n);
}

}  // namespace windtunnel
