#include "kernels/mpi/mpi_world.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "kernels/mpi/mpi_call.h"
#include "kernels/mpi/node_name.h"

namespace windtunnel {

MpiWorld::MpiWorld() {
  int provided = MPI_THREAD_SINGLE;
  check_mpi(PMPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
            "MPI_Init_thread");
  if (provided < MPI_THREAD_SERIALIZED) {
    throw TransferError("this MPI allows no calls from more than one thread");
  }
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check_mpi(PMPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check_mpi(PMPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
}

MpiWorld::~MpiWorld() {
  PMPI_Finalize();
}

std::vector<int> MpiWorld::nodes() const {
  const std::vector<std::string> names = gather(node_name());
  std::string firsts;
  for (const std::string& name : names) {
    const auto first = std::find(names.begin(), names.end(), name) - names.begin();
    firsts += std::to_string(first) + " ";
  }
  std::istringstream in(broadcast(firsts));
  return {std::istream_iterator<int>(in), std::istream_iterator<int>()};
}

void MpiWorld::barrier() const {
  check_mpi(PMPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

std::vector<std::string> MpiWorld::gather(const std::string& mine) const {
  const int bytes = static_cast<int>(mine.size());
  std::vector<int> sizes(static_cast<std::size_t>(size_)), places(sizes.size(), 0);
  check_mpi(PMPI_Gather(&bytes, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD),
            "MPI_Gather");
  std::string all;
  if (rank_ == 0) {
    for (std::size_t i = 1; i < places.size(); ++i) {
      if (__builtin_add_overflow(places[i - 1], sizes[i - 1], &places[i])) {
        throw TransferError("what the ranks bring back is over 2 GiB: run fewer steps");
      }
    }
    all.resize(static_cast<std::size_t>(places.back()) + static_cast<std::size_t>(sizes.back()));
  }
  check_mpi(PMPI_Gatherv(mine.data(), bytes, MPI_BYTE, all.data(), sizes.data(), places.data(),
                         MPI_BYTE, 0, MPI_COMM_WORLD),
            "MPI_Gatherv");
  std::vector<std::string> parts;
  if (rank_ != 0) return parts;
  for (std::size_t i = 0; i < places.size(); ++i) {
    parts.push_back(
        all.substr(static_cast<std::size_t>(places[i]), static_cast<std::size_t>(sizes[i])));
  }
  return parts;
}

std::string MpiWorld::broadcast(const std::string& mine) const {
  int bytes = static_cast<int>(mine.size());
  check_mpi(PMPI_Bcast(&bytes, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
  std::string text = rank_ == 0 ? mine : std::string(static_cast<std::size_t>(bytes), '\0');
  check_mpi(PMPI_Bcast(text.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
  return text;
}

void MpiWorld::abort(int status) const {
  PMPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

}  // namespace windtunnel
