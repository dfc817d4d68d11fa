#include "kernels/mpi/posted_transfer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "kernels/device/transfer_math.h"
#include "kernels/mpi/mpi_call.h"
#include "kernels/mpi/mpi_counts.h"

namespace windtunnel {

namespace {

constexpr int kTag = 0;

MPI_Datatype type_of(WireType type) {
  switch (type) {
    case WireType::fp32:
      return MPI_FLOAT;
    case WireType::fp64:
      return MPI_DOUBLE;
    case WireType::field:
      break;
  }
  return MPI_UINT64_T;  // plain sums: 2^33 members fit
}

MPI_Op op_of(Reduction reduction) {
  return reduction == Reduction::max ? MPI_MAX : MPI_SUM;
}

int count_of(std::int64_t elements) {
  if (elements > std::numeric_limits<int>::max()) {
    throw TransferError("a transfer of " + std::to_string(elements) +
                        " elements: MPI counts to 2^31 - 1");
  }
  return static_cast<int>(elements);
}

const char* at(const void* data, std::int64_t bytes) {
  return static_cast<const char*>(data) + bytes;
}

int peer_place(const MpiGroup& group, int peer) {
  return static_cast<int>(std::find(group.ranks.begin(), group.ranks.end(), peer) -
                          group.ranks.begin());
}

constexpr std::size_t kShiftArrays = 3;  // counts to send and to receive, and no displacements

/// An exchange in which each member has something for one other alone: one request for both
/// directions, which a send and a receive are not. MPI reads the arrays until it ends.
int post_shift(const TransferPart& part, const MpiGroup& group, void* scratch,
               MPI_Request* request) {
  const auto n = static_cast<std::size_t>(group.members());
  const auto place = static_cast<std::size_t>(group.place);
  int* send = static_cast<int*>(scratch);
  int* receive = send + n;
  int* from = receive + n;
  std::fill(send, from + n, 0);
  const auto distance = static_cast<std::size_t>(part.distance);
  send[(place + distance) % n] = receive[(place + n - distance) % n] = count_of(part.elements);
  const MPI_Datatype type = type_of(part.type);
  return MPI_Ialltoallv(part.in, send, from, type, part.out, receive, from, type, group.comm,
                        request);
}

/// Where the reduced numbers are and how many.
void finish_sum(const TransferPart& part, std::int64_t elements, int members) {
  with_number_of(part.type, [&](auto zero) {
    using T = decltype(zero);
    T* out = static_cast<T*>(part.out);
    for (std::int64_t i = 0; i < elements; ++i) {
      if constexpr (std::is_same_v<T, reference::Field>) {
        out[i].value = part.reduction == Reduction::max ? 0 : out[i].value % reference::kPrime;
      }
      if (part.reduction == Reduction::average) out[i] = out[i] * share_of<T>(members);
    }
  });
}

/// The members' parts of this rank's share, in member order.
void sum_shares(const TransferPart& part, std::int64_t share, int members, const void* scratch) {
  with_number_of(part.type, [&](auto zero) {
    using T = decltype(zero);
    const T* from = static_cast<const T*>(scratch);
    T* out = static_cast<T*>(part.out);
    std::copy(from, from + share, out);
    for (int m = 1; m < members; ++m) {
      const T* theirs = from + m * share;
      for (std::int64_t i = 0; i < share; ++i) {
        out[i] = reduce_two(part.reduction, out[i], theirs[i]);
      }
    }
  });
}

}  // namespace

std::int64_t scratch_bytes(const TransferPart& part, int members) {
  if (part.kind == WireKind::reduce_scatter) return part.elements * bytes_of(part.type);
  if (part.kind == WireKind::ring_shift) {
    return static_cast<std::int64_t>(kShiftArrays * sizeof(int)) * members;
  }
  return 0;
}

MPI_Request post(const TransferPart& part, const MpiGroup& group, void* scratch) {
  const MPI_Datatype type = type_of(part.type);
  const int n = group.members();
  const int all = count_of(part.elements), share = all / n;
  const bool in_place = part.in == part.out;
  const void* in = in_place ? MPI_IN_PLACE : part.in;
  MPI_Request request = MPI_REQUEST_NULL;
  int status = MPI_SUCCESS;
  switch (part.kind) {
    case WireKind::all_reduce:
      status = MPI_Iallreduce(in, part.out, all, type, op_of(part.reduction), group.comm, &request);
      break;
    case WireKind::all_gather: {
      const bool own =
          part.in == at(part.out, std::int64_t{group.place} * share * bytes_of(part.type));
      status = MPI_Iallgather(own ? MPI_IN_PLACE : part.in, share, type, part.out, share, type,
                              group.comm, &request);
      break;
    }
    case WireKind::reduce_scatter:
      count_as_reduce_scatter();
      status = MPI_Ialltoall(part.in, share, type, scratch, share, type, group.comm, &request);
      break;
    case WireKind::all_to_all:
      status = MPI_Ialltoall(in, share, type, part.out, share, type, group.comm, &request);
      break;
    case WireKind::broadcast:
      if (group.place == 0 && !in_place) {
        std::memcpy(part.out, part.in, static_cast<std::size_t>(all * bytes_of(part.type)));
      }
      status = MPI_Ibcast(part.out, all, type, 0, group.comm, &request);
      break;
    case WireKind::ring_shift:
      status = post_shift(part, group, scratch, &request);
      break;
    case WireKind::send:
      status =
          MPI_Isend(part.in, all, type, peer_place(group, part.peer), kTag, group.comm, &request);
      break;
    case WireKind::recv:
      status =
          MPI_Irecv(part.out, all, type, peer_place(group, part.peer), kTag, group.comm, &request);
      break;
  }
  check_mpi(status, "posting a transfer");
  return request;
}

void complete(const TransferPart& part, const MpiGroup& group, const void* scratch) {
  const int n = group.members();
  if (part.kind == WireKind::all_reduce) finish_sum(part, part.elements, n);
  if (part.kind != WireKind::reduce_scatter) return;
  sum_shares(part, part.elements / n, n, scratch);
  finish_sum(part, part.elements / n, n);
}

}  // namespace windtunnel
