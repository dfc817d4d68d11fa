#pragma once
// What a device's memory offers to one training process, and what is taken outside the framework's
// caching allocator: plain numbers that a device profile fills in, each with its source there.

#include <cstdint>

namespace windtunnel {

/// NCCL's device buffers. A connection of a channel owns one FIFO per protocol; a ring has one
/// receiving connection per channel, a tree up to three; NVLS registers buffers once per
/// communicator. Sizes: NVIDIA/nccl src/include/device.h, src/init.cc, src/transport/nvls.cc
/// (2.30.7).
struct NcclMemory {
  std::int64_t connection_bytes = 0;    // simple + LL + LL128 FIFOs of one connection
  int channels_in_domain = 0;           // channels when all ranks share one NVLink domain
  int channels_across = 0;              // channels when the communicator crosses domains
  int ring_connections = 0;             // per channel, any collective
  int tree_connections = 0;             // per channel, additionally, when all-reduce may use trees
  std::int64_t peer_bytes = 0;          // send/recv: buffers per connected peer and direction
  std::int64_t nvls_bytes = 0;          // per communicator inside one domain that runs all-reduce,
                                        // all-gather or reduce-scatter; 0 without NVLS
  std::int64_t communicator_bytes = 0;  // fixed cost of each communicator
};

struct DeviceMemory {
  std::int64_t capacity_bytes = 0;  // what the driver reports usable, before the process's context
  std::int64_t context_bytes = 0;   // CUDA context with the framework's modules loaded
  std::int64_t other_bytes = 0;     // whatever else stands outside the allocator
  std::int64_t cublas_workspace_bytes = 0;  // per (handle, stream), taken *inside* the allocator
  NcclMemory nccl;
};

}  // namespace windtunnel
