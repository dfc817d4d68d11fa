#pragma once
// What leaves through MPI, counted where it leaves: the transfer calls of this process are wrapped
// through MPI's profiling interface and counted by communicator, apart from what the caller thinks
// it sent.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/device/communicator.h"

namespace windtunnel {

/// Calls and bytes of one communicator, by WireKind. Bytes are of the full (gathered) tensor,
/// nccl-tests' convention; of messages, their own.
struct WireCount {
  std::string communicator;
  std::array<std::int64_t, kWireKinds> calls{}, bytes{};

  friend bool operator==(const WireCount&, const WireCount&) = default;
};

/// Since the last call of it; communicators in the order they first sent, named as MPI names them.
/// Not while transfers are under way.
std::vector<WireCount> take_wire_counts();

/// The next all-to-all of this thread carries a reduce_scatter and counts as one.
void count_as_reduce_scatter();

}  // namespace windtunnel
