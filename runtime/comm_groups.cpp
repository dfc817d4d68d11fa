#include "runtime/comm_groups.h"

#include "program/mesh.h"

namespace windtunnel {

std::vector<GroupMembers> groups_of(const Program& program, int rank) {
  std::vector<GroupMembers> groups;
  for (const Comm& comm : program.comms) {
    groups.push_back({.name = comm.name, .ranks = members(program.mesh, comm, rank)});
  }
  return groups;
}

}  // namespace windtunnel
