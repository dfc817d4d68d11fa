#pragma once
// One transfer as MPI sees it: posted as a nonblocking call, and what remains to be done to its
// result. Included by sources of this folder only.

#include <mpi.h>

#include <vector>

#include "kernels/device/communicator.h"

namespace windtunnel {

/// A communicator of MPI and this rank's place in it.
struct MpiGroup {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> ranks;  // of the world, ascending
  int place = 0;

  int members() const { return static_cast<int>(ranks.size()); }
};

/// Posts the transfer. `scratch`: room of `scratch_bytes`. A reduce_scatter is an exchange of
/// shares that every member adds up when it has them: (n-1)/n of the tensor leaves and comes, the
/// least there is, where OpenMPI 4.1's nonblocking one goes through one member. Throws
/// TransferError.
MPI_Request post(const TransferPart& part, const MpiGroup& group, void* scratch);

/// After the request has ended: adds up shares, averages, reduces sums of field elements.
void complete(const TransferPart& part, const MpiGroup& group, const void* scratch);

/// Bytes of scratch that posting the transfer among so many members takes; 0 for most.
std::int64_t scratch_bytes(const TransferPart& part, int members);

}  // namespace windtunnel
