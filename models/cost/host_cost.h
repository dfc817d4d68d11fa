#pragma once
// Time of what offloading adds: copies between a device and its host's memory, and the optimizer's
// step on the host's processors (docs/offload.md).
//
//   copy:  fixed + bytes / min(link, share)
//   step:  bytes / (efficiency * share)
//
// link: what pinned copies of one device reach in the copy's direction; share: a rank's part of its
// node's memory bandwidth, all ranks of the node copying and stepping at once. Bytes of a step are
// what its operands read and write. Efficiency: ZeRO-Offload (Ren et al. 2021, 2101.06840, table 4,
// 10 billion parameters on two Xeon Platinum 8168, six channels of DDR4-2666 each, 256 GB/s): 2.57
// s with one pass over the operands, 14.76 s with PyTorch's pass for each operation, of 30 bytes a
// parameter.

#include "models/cost/profile.h"

namespace windtunnel {

/// Of a node whose cluster does not state it: two processors of eight channels of DDR4-3200, 25.6
/// GB/s each (what a DGX A100 has; NVIDIA DGX A100 data sheet, AMD EPYC 7742 data sheet).
constexpr BytesPerSecond kAssumedHostBandwidth{2 * 8 * 25.6e9};

/// A rank's part of the memory of its node's processors.
struct HostShare {
  BytesPerSecond bandwidth{kAssumedHostBandwidth.value / 8};  // of eight ranks a node
  bool assumed = true;                                        // not stated by the cluster
};

/// Ids of sources beside the profile's own, for `source_text`.
constexpr std::uint16_t kHostStepSource = 0xfffe;
const char* host_source_text();

/// Precondition: a copy, to_host or to_device.
OpCost copy_cost(const Profile& profile, const HostShare& host, const Shape& shape);
/// Precondition: a kernel of the host (kOnHost); kFused: one pass over the operands.
OpCost host_kernel_cost(const HostShare& host, const Shape& shape);

}  // namespace windtunnel
