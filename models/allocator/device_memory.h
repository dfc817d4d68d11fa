#pragma once
// What a device's memory offers to one training process, and what is taken outside the framework's
// caching allocator: plain numbers that a device profile fills in, each with its source there.

#include <cstdint>

namespace windtunnel {

/// NCCL's device buffers. A connection of a channel owns one FIFO per protocol; a ring has one
/// receiving connection per channel, a tree up to three; send/recv connects each peer inside a
/// domain and shares one pool per communicator over the network; NVLS registers buffers per
/// communicator. Sources: NVIDIA/nccl 2.30.7 src/include/device.h, src/init.cc,
/// src/transport/{p2p,net,nvls}.cc; NVIDIA/nccl issues 986, 1450, 1685, 2363.
struct NcclMemory {
  std::int64_t connection_bytes = 0;    // simple + LL + LL128 FIFOs of one connection
  int channels_in_domain = 0;           // when all ranks share one NVLink domain
  int channels_across = 0;              // when the communicator crosses domains
  int ring_connections = 0;             // per channel, any collective
  int tree_connections = 0;             // per channel, more of them once all-reduce may use trees
  int peer_channels = 0;                // send/recv inside a domain: per peer received from
  std::int64_t network_pool_bytes = 0;  // send/recv across domains: per communicator
  std::int64_t nvls_bytes = 0;  // per communicator with collectives inside one domain of more
                                // than two ranks; 0 without NVLS
  std::int64_t communicator_bytes = 0;  // fixed cost of each communicator
  // NCCL before 2.22 connects ring and tree of a communicator when it is made, whatever it is used
  // for (NVIDIA/nccl 2.22 release notes: lazy connection establishment).
  bool connects_at_init = false;
};

struct DeviceMemory {
  std::int64_t capacity_bytes = 0;  // what the driver reports usable, before the process's context
  std::int64_t context_bytes = 0;   // CUDA context with the framework's modules loaded
  std::int64_t other_bytes = 0;     // whatever else stands outside the allocator
  std::int64_t graph_kernel_bytes = 0;      // of the driver, for each kernel of a captured graph
  std::int64_t cublas_workspace_bytes = 0;  // per (handle, stream), taken *inside* the allocator
  NcclMemory nccl;
};

}  // namespace windtunnel
