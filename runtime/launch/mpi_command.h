#pragma once
// The command that starts a program's ranks under MPI on this machine, and the world a process was
// started in by another launcher.

#include <optional>
#include <string>
#include <vector>

#include "runtime/launch/child_process.h"

namespace windtunnel {

struct RankProgram {
  int ranks = 1;
  std::vector<std::string> words;  // program and arguments of every rank
  std::string folder;              // for the launcher's own files
  std::string output;              // file for what it and the ranks say
};

/// mpirun, for more ranks than cores too, as root too, not bound to cores; ranks that wait yield.
/// Its session and shared memory stand in the folder.
ChildCommand mpi_command(const RankProgram& program);

/// Whether `mpirun` is on the PATH.
bool has_mpirun();

/// The world this process is a rank of, from what mpirun (OpenMPI, MPICH's hydra) or srun put into
/// the environment; nothing outside one.
struct JoinedWorld {
  int rank = 0, ranks = 1;
  const char* launcher = "";  // "mpirun" or "srun"
};
std::optional<JoinedWorld> joined_world();

}  // namespace windtunnel
