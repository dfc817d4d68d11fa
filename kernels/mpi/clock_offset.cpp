#include "kernels/mpi/clock_offset.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/mpi/mpi_call.h"
#include "kernels/mpi/node_name.h"

namespace windtunnel {

namespace {

constexpr int kExchanges = 16;  // the quickest of these has not been held up
constexpr int kTag = 7;

void answer(int rank, const ReadClock& now) {
  for (int i = 0; i < kExchanges; ++i) {
    char asked = 0;
    check_mpi(PMPI_Recv(&asked, 1, MPI_CHAR, rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Recv");
    const std::int64_t mine = now().count();
    check_mpi(PMPI_Send(&mine, 1, MPI_INT64_T, rank, kTag, MPI_COMM_WORLD), "MPI_Send");
  }
}

std::chrono::nanoseconds ask(const ReadClock& now) {
  std::int64_t offset = 0, least = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kExchanges; ++i) {
    const char asked = 0;
    std::int64_t theirs = 0;
    const std::int64_t before = now().count();
    check_mpi(PMPI_Send(&asked, 1, MPI_CHAR, 0, kTag, MPI_COMM_WORLD), "MPI_Send");
    check_mpi(PMPI_Recv(&theirs, 1, MPI_INT64_T, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Recv");
    const std::int64_t after = now().count();
    if (after - before >= least) continue;
    least = after - before;
    offset = theirs - (before + least / 2);
  }
  return std::chrono::nanoseconds(offset);
}

}  // namespace

std::chrono::nanoseconds read_steady_clock() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

std::chrono::nanoseconds clock_offset(const MpiWorld& world, const ReadClock& now) {
  const std::string mine = boot_name();
  return exchanged_offset(world, now, !mine.empty() && world.broadcast(mine) == mine);
}

std::chrono::nanoseconds exchanged_offset(const MpiWorld& world, const ReadClock& now,
                                          bool same_machine) {
  const std::vector<std::string> asking = world.gather(same_machine ? "" : "?");
  if (world.rank() != 0) return same_machine ? std::chrono::nanoseconds(0) : ask(now);
  for (int r = 1; r < world.size(); ++r) {
    if (!asking[static_cast<std::size_t>(r)].empty()) answer(r, now);
  }
  return std::chrono::nanoseconds(0);
}

}  // namespace windtunnel
