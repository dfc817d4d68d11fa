#pragma once
// Device memory of a rank that its caching allocator does not see: the CUDA context, NCCL's buffers
// and whatever else the device's profile names.
//
// NCCL connects a communicator at its first use, so only communicators that the role's ops use
// count, and only where they span more than one rank:
//   collective: channels * ring_connections * connection_bytes, and with an all-reduce
//               channels * tree_connections * connection_bytes more; nvls_bytes once when more than
//               two members share the rank's NVLink domain
//   Before NCCL 2.22 every communicator pays for ring and tree at once, and PyTorch makes one more
//   communicator of two ranks for each peer of send/recv (ProcessGroupNCCL, getKeySendRecv).
//   receive:    peer_channels * connection_bytes per peer of the same domain; one
//   network_pool_bytes
//               as soon as a peer, sent to or received from, is outside
// Sources: models/allocator/device_memory.h.

#include <cstdint>
#include <vector>

#include "models/allocator/device_memory.h"
#include "program/program.h"

namespace windtunnel {

struct CommunicatorMemory {
  std::uint32_t comm = kNone;  // in Program::comms
  int ranks = 0;
  std::int64_t bytes = 0;
};

struct OutsideMemory {
  std::int64_t context_bytes = 0, nccl_bytes = 0, other_bytes = 0;
  std::vector<CommunicatorMemory> communicators;

  std::int64_t total() const { return context_bytes + nccl_bytes + other_bytes; }
};

/// For the role's rank with coordinate 0 on every other axis. `domain_ranks`: consecutive ranks
/// that share an NVLink domain, > 0.
OutsideMemory outside_memory(const Program& program, int role, const DeviceMemory& device,
                             int domain_ranks);

}  // namespace windtunnel
