#pragma once
// Time of kernels that move bytes: norms, elementwise, softmax, cross-entropy, optimizer.
//
//   time = max(floor, fixed + (bytes_read + bytes_written) / (efficiency * bandwidth))
//
// A kernel that goes on with the one before (`kContinues`) has the streaming term alone.
// Bytes are those of `Shape`: each operand once. An implementation that makes several passes (eager
// norms, eager activations) shows as a lower efficiency: its row is measured on the same count.
// `kFused` in the shape's attributes picks the fused or the eager row of the kernel's group.
// Effects of the L2 cache are not modelled: the efficiencies come from working sets over it.
// docs/cost_memory_bound.md has the rows and their sources.

#include <span>
#include <string_view>

#include "models/cost/profile.h"

namespace windtunnel {

/// A kernel's group: the name its rows carry in a profile.
std::string_view memory_group(Kernel kernel);

/// Every group name, for the loader.
std::span<const std::string_view> memory_groups();

/// Precondition: row_of(shape.kernel).cls == memory.
OpCost memory_cost(const Profile& profile, const Shape& shape);

/// The same for any traffic of a group: what the oracle O-134 (fused Adam) asks.
Seconds streaming_time(Bytes bytes, BytesPerSecond bandwidth);

}  // namespace windtunnel
