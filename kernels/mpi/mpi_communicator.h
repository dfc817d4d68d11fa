#pragma once
// Communicators over MPI: one thread per rank makes all calls.
//
// A transfer is posted as a nonblocking call when its stream has come to it and, for collectives,
// its turn in its communicator's queue; the thread then tests what is under way, yielding the
// processor between tests, and sleeps when nothing is. Several threads inside MPI, or one that
// blocks in it, take the processor from compute (docs/runtime.md has figures).

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/device/communicator.h"
#include "kernels/mpi/mpi_world.h"

namespace windtunnel {

/// What the thread does while transfers are under way and none has just ended.
enum class Waiting : std::uint8_t {
  yields,  // tests again when no one else wants the core: the least latency
  rests    // sleeps 200 us: many ranks on few cores, where testing takes the cores from others
};

/// Makes the groups' communicators: to be called by every rank of the world at the same time, with
/// the same communicators in the same order. A communicator takes memory of its own for its largest
/// reduce_scatter, when that first comes.
std::unique_ptr<Communicator> make_mpi_communicator(const MpiWorld& world,
                                                    std::vector<GroupMembers> groups,
                                                    Waiting waiting = Waiting::yields);

}  // namespace windtunnel
