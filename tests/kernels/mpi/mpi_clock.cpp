// Among ranks whose clocks differ by hours: does each know by how much? And are they on one node?
// Says what is wrong and ends with 1.

#include <cstdio>
#include <cstdlib>

#include "kernels/mpi/clock_offset.h"
#include "kernels/mpi/mpi_world.h"

int main() {
  using namespace windtunnel;
  using std::chrono::nanoseconds;
  const MpiWorld world;
  const nanoseconds ahead = std::chrono::hours(3 * world.rank());
  const auto shifted = [ahead] {
    return nanoseconds(std::chrono::steady_clock::now().time_since_epoch()) + ahead;
  };
  const nanoseconds error = exchanged_offset(world, shifted) + ahead;
  int status = EXIT_SUCCESS;
  if (std::chrono::abs(error) > std::chrono::seconds(1)) {  // an exchange takes some microseconds
    std::fprintf(stderr, "rank %d: off by %lld ns\n", world.rank(),
                 static_cast<long long>(error.count()));
    status = EXIT_FAILURE;
  }
  if (clock_offset(world, shifted) != nanoseconds(0)) {
    std::fprintf(stderr, "rank %d: ranks of one machine exchange nothing\n", world.rank());
    status = EXIT_FAILURE;
  }
  for (const int first : world.nodes()) {
    if (first == 0) continue;
    std::fprintf(stderr, "rank %d: this machine is one node\n", world.rank());
    status = EXIT_FAILURE;
  }
  return status;
}
