#pragma once
// Before training: does every group consist of the ranks the program says, and no others?
//
// Every rank sends a number of its own through every communicator; the sum over a group tells its
// members apart from any other set, up to a chance of 2^-64.

#include <array>
#include <string>
#include <vector>

#include "kernels/device/communicator.h"

namespace windtunnel {

/// Empty, or what is wrong: "communicator dp of rank 3 ...". To be called by all ranks at the same
/// time.
std::string probe_groups(Communicator& communicator, const std::vector<GroupMembers>& groups,
                         int rank);

}  // namespace windtunnel
