#pragma once
// What rank 0's clock shows less what this rank's shows: machines count from their own start.

#include <chrono>
#include <functional>

#include "kernels/mpi/mpi_world.h"

namespace windtunnel {

using ReadClock = std::function<std::chrono::nanoseconds()>;

/// std::chrono::steady_clock, since its machine's start.
std::chrono::nanoseconds read_steady_clock();

/// By exchanges with rank 0, the quickest of which counts: known to half its time there and back
/// (Cristian 1989, "Probabilistic clock synchronization"). All ranks call it together; those on
/// rank 0's machine get 0 and exchange nothing.
std::chrono::nanoseconds clock_offset(const MpiWorld& world,
                                      const ReadClock& now = read_steady_clock);

/// The same, by exchanges wherever the ranks are.
std::chrono::nanoseconds exchanged_offset(const MpiWorld& world, const ReadClock& now,
                                          bool same_machine = false);

}  // namespace windtunnel
