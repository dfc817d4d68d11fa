#pragma once
// Starts the ranks of a scenario's program on this machine, watches over them, and brings back what
// they measured.

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "planning/simulate.h"
#include "runtime/rank_outcome.h"

namespace windtunnel {

struct RunRequest {
  std::string scenario_path, id;
  int warm_up = 1, steps = 3;
  double settle_s = 0.0;         // warm-up steps go on for as long
  std::string numbers = "fp32";  // fp32 | fp64 | field
  Recording recording = Recording::none;
  std::uint64_t seed = 1;
  double hang_after_s = 60.0;  // without any op finishing on any rank
  std::string emulate;         // profile whose times kernels take instead of computing; empty: none
  bool speeds = false;         // measure the machine's speed around the steps
};

/// A rank died, hung or gave up. The text names it, its op and the cause.
struct RunFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// MPI, or the program of a rank, is not there.
struct RunImpossible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Ranks of this machine under mpirun.
struct RankLaunch {
  int ranks = 1;
  const Program& program;          // for words about where ranks are
  std::vector<std::string> words;  // arguments of windtunnel-rank, less its folder
  double hang_after_s = 60.0;
  /// What the first rank says it is doing, whenever that is another thing; empty: nobody asks.
  std::function<void(const std::string& what, double seconds_left)> progress{};
};

/// Whether this program was built with MPI.
bool has_rank_program();

/// This process was started as a rank by mpirun or srun, has done its part, and another one, the
/// first, tells the result.
struct FirstRankTells {};

/// Throws InputError in a world that mpirun or srun started: its ranks can be joined once, and
/// `verb` would start them several times.
void require_own_ranks(const char* verb);

/// Starts them and waits for their end, then calls `after` with the folder of their files, which is
/// gone when this returns. In a world that mpirun or srun started every process calls it, and each
/// becomes the rank it was started as; `after` is called on the first, the others throw
/// FirstRankTells. Throws RunFailed, RunImpossible, InputError when that world has another size.
void launch_ranks(const RankLaunch& launch, const std::function<void(const std::string&)>& after);

/// One outcome per rank, in rank order. `lowered`: the program of the request's scenario. Throws
/// RunFailed, RunImpossible. Nothing of the run is left when it returns or throws, or when this
/// process is killed meanwhile.
std::vector<RankOutcome> run_program(const RunRequest& request, const Lowered& lowered);

/// Throws InputError, at the scenario's place, when the CPU device cannot execute its program.
/// `emulated`: kernels are not, so they may be another device's.
void require_executable(const Lowered& lowered, bool emulated = false);

/// Says so where ranks outnumber the processors they would share; else empty. Ranks of a joined
/// world have their own.
std::string crowding_text(std::int64_t ranks);

}  // namespace windtunnel
