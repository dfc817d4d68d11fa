// The world of a process from environments as launchers leave them.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/launch/mpi_command.h"

namespace windtunnel {
namespace {

using Variables = std::vector<std::pair<const char*, const char*>>;

class JoinedWorldTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
                             "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
      unsetenv(name);
    }
  }
  void TearDown() override { SetUp(); }

  /// "2 of 4 by mpirun", or "none".
  std::string told(const Variables& variables) {
    SetUp();
    for (const auto& [name, value] : variables) setenv(name, value, 1);
    const std::optional<JoinedWorld> world = joined_world();
    if (!world) return "none";
    return std::to_string(world->rank) + " of " + std::to_string(world->ranks) + " by " +
           world->launcher;
  }
};

TEST_F(JoinedWorldTest, OfEveryLauncher) {
  // Open MPI 4: orted's variables, among them those of the node.
  EXPECT_EQ(told({{"OMPI_COMM_WORLD_RANK", "2"},
                  {"OMPI_COMM_WORLD_SIZE", "4"},
                  {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}),
            "2 of 4 by mpirun");
  // MPICH's hydra.
  EXPECT_EQ(told({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), "0 of 1 by mpirun");
  // Slurm: a step of 8 tasks in a job of 16.
  EXPECT_EQ(told({{"SLURM_PROCID", "7"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_NTASKS", "16"}}),
            "7 of 8 by srun");
  // mpirun inside a Slurm job.
  EXPECT_EQ(told({{"SLURM_PROCID", "0"},
                  {"SLURM_STEP_NUM_TASKS", "1"},
                  {"OMPI_COMM_WORLD_RANK", "3"},
                  {"OMPI_COMM_WORLD_SIZE", "4"}}),
            "3 of 4 by mpirun");
}

TEST_F(JoinedWorldTest, NoneOutsideOne) {
  EXPECT_EQ(told({}), "none");
  // A batch script of Slurm is no step's task.
  EXPECT_EQ(told({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}}), "none");
  EXPECT_EQ(told({{"OMPI_COMM_WORLD_RANK", "1"}}), "none");
  EXPECT_EQ(told({{"OMPI_COMM_WORLD_SIZE", "1"}}), "none");
}

TEST_F(JoinedWorldTest, NonsenseIsNoWorld) {
  for (const char* rank : {"", " ", "-1", "4", "5", "x", "1x", " 1", "0x1", "1.0",
                           "99999999999999999999", "4294967296"}) {
    EXPECT_EQ(told({{"PMI_RANK", rank}, {"PMI_SIZE", "4"}}), "none") << "'" << rank << "'";
  }
  for (const char* size : {"", "0", "-4", "x", "99999999999999999999"}) {
    EXPECT_EQ(told({{"PMI_RANK", "0"}, {"PMI_SIZE", size}}), "none") << "'" << size << "'";
  }
}

}  // namespace
}  // namespace windtunnel
