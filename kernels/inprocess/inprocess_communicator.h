#pragma once
// Communicators of ranks that are threads of one process: for tests of the runtime without MPI.
//
// A transfer is carried out by the rank that comes last: sums are taken in member order, so every
// member gets the same bits.

#include <memory>
#include <vector>

#include "kernels/device/communicator.h"

namespace windtunnel {

class InProcessBoard;

/// What the ranks of one process share. Outlives the communicators made from it.
class InProcessWorld {
 public:
  InProcessWorld();
  ~InProcessWorld();

  /// The communicators of `rank`; `groups` as for every implementation.
  std::unique_ptr<Communicator> join(int rank, std::vector<GroupMembers> groups);
  /// Every transfer that has not ended, on every rank, fails with this text.
  void fail(const std::string& why);

 private:
  std::shared_ptr<InProcessBoard> board_;
};

}  // namespace windtunnel
