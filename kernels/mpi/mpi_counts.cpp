#include "kernels/mpi/mpi_counts.h"

#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace windtunnel {

namespace {

/// The process's counters: MPI's profiling interface has no place for an object.
std::vector<WireCount>& counts() {
  static std::vector<WireCount> all;
  return all;
}

void count(MPI_Comm comm, WireKind kind, std::int64_t elements, MPI_Datatype type) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0, size = 0;
  PMPI_Comm_get_name(comm, name, &length);
  PMPI_Type_size(type, &size);
  auto at = std::find_if(counts().begin(), counts().end(),
                         [&](const WireCount& c) { return c.communicator == name; });
  if (at == counts().end()) at = counts().insert(at, WireCount{.communicator = name});
  const auto k = static_cast<std::size_t>(kind);
  ++at->calls[k];
  at->bytes[k] += elements * size;
}

int members_of(MPI_Comm comm) {
  int members = 1;
  PMPI_Comm_size(comm, &members);
  return members;
}

thread_local bool next_reduces = false;

WireKind kind_of_exchange() {
  return std::exchange(next_reduces, false) ? WireKind::reduce_scatter : WireKind::all_to_all;
}

}  // namespace

void count_as_reduce_scatter() {
  next_reduces = true;
}

std::vector<WireCount> take_wire_counts() {
  std::vector<WireCount> taken;
  std::swap(taken, counts());
  return taken;
}

}  // namespace windtunnel

using windtunnel::WireKind;

// The wrapped calls; their names and parameters are MPI's.
// NOLINTBEGIN(readability-function-size)
extern "C" {

int MPI_Iallreduce(const void* in, void* out, int elements, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  windtunnel::count(comm, WireKind::all_reduce, elements, type);
  return PMPI_Iallreduce(in, out, elements, type, op, comm, request);
}

int MPI_Iallgather(const void* in, int in_elements, MPI_Datatype in_type, void* out,
                   int out_elements, MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  windtunnel::count(comm, WireKind::all_gather,
                    std::int64_t{out_elements} * windtunnel::members_of(comm), out_type);
  return PMPI_Iallgather(in, in_elements, in_type, out, out_elements, out_type, comm, request);
}

int MPI_Ialltoall(const void* in, int in_elements, MPI_Datatype in_type, void* out,
                  int out_elements, MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  windtunnel::count(comm, windtunnel::kind_of_exchange(),
                    std::int64_t{in_elements} * windtunnel::members_of(comm), in_type);
  return PMPI_Ialltoall(in, in_elements, in_type, out, out_elements, out_type, comm, request);
}

int MPI_Ialltoallv(const void* in, const int in_elements[], const int in_at[], MPI_Datatype in_type,
                   void* out, const int out_elements[], const int out_at[], MPI_Datatype out_type,
                   MPI_Comm comm, MPI_Request* request) {
  const int* end = in_elements + windtunnel::members_of(comm);
  windtunnel::count(comm, WireKind::ring_shift, std::accumulate(in_elements, end, std::int64_t{0}),
                    in_type);
  return PMPI_Ialltoallv(in, in_elements, in_at, in_type, out, out_elements, out_at, out_type, comm,
                         request);
}

int MPI_Ibcast(void* data, int elements, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  windtunnel::count(comm, WireKind::broadcast, elements, type);
  return PMPI_Ibcast(data, elements, type, root, comm, request);
}

int MPI_Isend(const void* data, int elements, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  windtunnel::count(comm, WireKind::send, elements, type);
  return PMPI_Isend(data, elements, type, to, tag, comm, request);
}

int MPI_Irecv(void* data, int elements, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  windtunnel::count(comm, WireKind::recv, elements, type);
  return PMPI_Irecv(data, elements, type, from, tag, comm, request);
}

}  // extern "C"
// NOLINTEND(readability-function-size)
