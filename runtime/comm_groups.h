#pragma once
// The communicators of a program as one rank sees them.

#include <vector>

#include "kernels/device/communicator.h"
#include "program/program.h"

namespace windtunnel {

/// By communicator of the program: the ranks of this rank's group, none when it is in no group.
std::vector<GroupMembers> groups_of(const Program& program, int rank);

}  // namespace windtunnel
