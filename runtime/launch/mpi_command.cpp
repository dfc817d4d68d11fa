#include "runtime/launch/mpi_command.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace windtunnel {

namespace {

std::optional<int> number_in(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view all(text);
  int value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc() || end != all.data() + all.size() || value < 0) return std::nullopt;
  return value;
}

struct LauncherRow {
  const char* launcher;
  const char* rank;
  const char* ranks;
};
// OpenMPI's orted, MPICH's hydra, Slurm's srun (SLURM_STEP_NUM_TASKS is the step's, not the job's).
constexpr std::array kLaunchers{
    LauncherRow{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    LauncherRow{"mpirun", "PMI_RANK", "PMI_SIZE"},
    LauncherRow{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

}  // namespace

ChildCommand mpi_command(const RankProgram& program) {
  ChildCommand command{
      .words = {"mpirun", "-np", std::to_string(program.ranks), "--oversubscribe", "--bind-to",
                "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "orte_tmpdir_base",
                program.folder, "--mca", "btl_vader_backing_directory", program.folder},
      .environment = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
      .output = program.output};
  command.words.insert(command.words.end(), program.words.begin(), program.words.end());
  return command;
}

bool has_mpirun() {
  const char* path = std::getenv("PATH");
  std::string_view rest(path == nullptr ? "" : path);
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string candidate = std::string(rest.substr(0, colon)) + "/mpirun";
    if (access(candidate.c_str(), X_OK) == 0) return true;
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return false;
}

std::optional<JoinedWorld> joined_world() {
  for (const LauncherRow& row : kLaunchers) {
    const std::optional<int> rank = number_in(row.rank), ranks = number_in(row.ranks);
    if (!rank || !ranks || *ranks < 1 || *rank >= *ranks) continue;
    return JoinedWorld{.rank = *rank, .ranks = *ranks, .launcher = row.launcher};
  }
  return std::nullopt;
}

}  // namespace windtunnel
