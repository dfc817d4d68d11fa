#pragma once
// A process's place in a world of MPI ranks, and the exchanges between steps.
//
// MPI is initialised for calls from one thread at a time. While a communicator's thread is at work
// nothing else may call; the exchanges here are for the time between steps.

#include <cstdint>
#include <string>
#include <vector>

namespace windtunnel {

class MpiWorld {
 public:
  /// MPI_Init_thread, MPI_THREAD_SERIALIZED. Throws TransferError when MPI gives less.
  MpiWorld();
  /// MPI_Finalize.
  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The first rank of each rank's node (node_name.h).
  std::vector<int> nodes() const;

  void barrier() const;
  /// The bytes of every rank, on rank 0; empty on the others.
  std::vector<std::string> gather(const std::string& mine) const;
  /// Rank 0's bytes, on every rank.
  std::string broadcast(const std::string& mine) const;
  /// Ends every rank of the world with this exit status.
  [[noreturn]] void abort(int status) const;

 private:
  int rank_ = 0, size_ = 1;
};

}  // namespace windtunnel
