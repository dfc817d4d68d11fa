// windtunnel-rank: one rank of a run or a calibration. `windtunnel` starts it through mpirun, or
// as the rank that mpirun or srun started `windtunnel` as.

#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/measure/anchor.h"
#include "calibrate/ranks/rank_session.h"
#include "cli/exit_code.h"
#include "core/atomic_file.h"
#include "core/diagnostics.h"
#include "kernels/mpi/mpi_world.h"
#include "planning/measured/emulated_times.h"
#include "planning/simulate.h"
#include "runtime/distributed/distributed_run.h"
#include "runtime/launch/outcome_files.h"
#include "scenarios/loader.h"

namespace windtunnel {

namespace {

struct RankArguments {
  std::string scenario, id, folder, numbers = "fp32";
  int warm_up = 1, steps = 1;
  double settle_s = 0.0;
  std::uint64_t seed = 1;
  std::string emulate;  // profile
  bool joined = false;  // of a world that others started: folders are each rank's own
  bool values = false, speeds = false;
  std::int64_t capacity_bytes = std::int64_t{1} << 38;
  // A calibration instead of a run:
  std::vector<std::string> calibrate_for;
  double budget_s = 60.0;
  std::string samples, storage;
  int ranks = 1;  // of the world
};

void add_options(CLI::App& app, RankArguments& a) {
  app.add_option("scenario", a.scenario);
  app.add_option("--calibrate-for", a.calibrate_for);
  app.add_option("--budget", a.budget_s);
  app.add_option("--samples", a.samples);
  app.add_option("--storage", a.storage);
  app.add_option("--id", a.id);
  app.add_option("--folder", a.folder)->required();
  app.add_option("--numbers", a.numbers)->check(CLI::IsMember({"fp32", "fp64", "field"}));
  app.add_option("--warm-up", a.warm_up);
  app.add_option("--settle", a.settle_s);
  app.add_option("--ranks", a.ranks)->required();
  app.add_option("--steps", a.steps);
  app.add_option("--seed", a.seed);
  app.add_option("--capacity", a.capacity_bytes);
  app.add_option("--emulate", a.emulate);
  app.add_flag("--joined", a.joined);
  app.add_flag("--values", a.values);
  app.add_flag("--speeds", a.speeds);
}

RunNumbers numbers_of(const std::string& name) {
  if (name == "field") return RunNumbers::field;
  return name == "fp64" ? RunNumbers::fp64 : RunNumbers::fp32;
}

Scenario scenario_of(const RankArguments& a) {
  ScenarioSet set = load_scenarios(a.scenario);
  for (Scenario& s : set.scenarios) {
    if (a.id.empty() || s.id == a.id) return std::move(s);
  }
  throw InputError({{.message = "no scenario '" + a.id + "' in " + a.scenario}});
}

void write_outcome(const std::string& packed, const std::string& folder, int rank) {
  AtomicFile file(outcome_path(folder, rank));
  file.write(packed);
  file.commit();
}

/// Where the process that tells the result finds it.
void keep(const std::string& packed, const RankArguments& a, const MpiWorld& world) {
  if (!a.joined) return write_outcome(packed, a.folder, world.rank());
  const std::vector<std::string> all = world.gather(packed);
  for (std::size_t r = 0; r < all.size(); ++r) {
    write_outcome(all[r], a.folder, static_cast<int>(r));
  }
}

void run_rank(const RankArguments& a, const MpiWorld& world, RankStatus& status) {
  status.pid = getpid();
  status.state = RankState::starting;
  const Lowered lowered = lower_scenario(scenario_of(a));
  if (world.size() != lowered.program.mesh.ranks()) {
    throw ExecutionError("the plan has " + std::to_string(lowered.program.mesh.ranks()) +
                         " ranks, this world " + std::to_string(world.size()));
  }
  std::function<MachineSpeed()> measure_speed;
  if (a.speeds) {
    measure_speed = [anchor = std::make_shared<Anchor>()] {
      const AnchorRates rates = anchor->measure();
      return MachineSpeed{.flops_per_s = rates.flops_per_s, .bytes_per_s = rates.bytes_per_s};
    };
  }
  std::optional<EmulatedCompute> emulated;
  if (!a.emulate.empty()) {
    emulated = emulated_times(lowered, load_profile(a.emulate), a.seed);
  }
  const RankOutcome outcome =
      run_distributed({.program = lowered.program,
                       .numbers = numbers_of(a.numbers),
                       .emulated = emulated ? &*emulated : nullptr,
                       .recording = a.values ? Recording::values : Recording::none,
                       .warm_up = a.warm_up,
                       .settle_s = a.settle_s,
                       .steps = a.steps,
                       .seed = a.seed,
                       .capacity_bytes = a.capacity_bytes,
                       .measure_speed = measure_speed,
                       .on_failure =
                           [&status](const std::string& why) {
                             status.fail(why);
                             std::_Exit(kExitRunFailed);  // mpirun ends the others
                           }},
                      world, status);
  keep(pack(outcome), a, world);
  status.state = RankState::done;
}

void write_slow(const std::vector<std::string>& lines, const std::string& folder) {
  AtomicFile file(slow_path(folder));
  for (const std::string& line : lines) file.write(line + "\n");
  file.commit();
}

void calibrate(const RankArguments& a, const MpiWorld& world, RankStatus& status) {
  status.pid = getpid();
  status.state = RankState::running;
  std::vector<Program> programs;
  for (const std::string& path : a.calibrate_for) {
    for (const Scenario& s : load_scenarios(path).scenarios) {
      if (a.id.empty() || s.id == a.id) programs.push_back(lower_scenario(s).program);
    }
  }
  const std::vector<std::string> slow =
      calibrate_rank({.programs = programs,
                      .budget_s = a.budget_s,
                      .seed = a.seed,
                      .emulated = !a.emulate.empty(),
                      .samples = a.samples.empty() ? samples_path(a.folder) : a.samples,
                      .storage_folder = a.storage,
                      .progress =
                          [&status](const SessionProgress& p) {
                            ++status.progress.finished;
                            status.say(p.what, p.seconds_left);
                          }},
                     world);
  if (world.rank() == 0) write_slow(slow, a.folder);
  status.state = RankState::done;
}

/// Memory that MPI frees stays in the process. Its buffers of large transfers would else be fresh
/// pages at every call, which the system has to clear, and a virtual machine to find first.
void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 << 20);
  mallopt(M_ARENA_MAX, 1);  // other arenas end at 64 MiB
}

int main_of_rank(const RankArguments& a) {
  keep_freed_memory();
  // A rank ends with the launcher that started it, whatever ends that.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const MpiWorld world;
  StatusBoard board = StatusBoard::open(status_path(a.folder), a.ranks);
  RankStatus& status = board.rank(world.size() == a.ranks ? world.rank() : 0);
  try {
    if (world.size() != a.ranks) {
      throw ExecutionError("of the " + std::to_string(a.ranks) +
                           " ranks that the launcher started, MPI knows " +
                           std::to_string(world.size()) +
                           ": they have to be started for this MPI (srun --mpi=pmix)");
    }
    if (a.calibrate_for.empty()) {
      run_rank(a, world, status);
    } else {
      calibrate(a, world, status);
    }
    return kExitOk;
  } catch (const std::exception& error) {
    status.fail(error.what());
    // The launcher of a joined world ends the others when the process that watches this one ends,
    // which has first told why.
    if (a.joined) std::_Exit(kExitRunFailed);
    world.abort(kExitRunFailed);
  }
}

}  // namespace

}  // namespace windtunnel

int main(int argc, char** argv) {
  CLI::App app{"One rank of `windtunnel run`."};
  windtunnel::RankArguments arguments;
  windtunnel::add_options(app, arguments);
  CLI11_PARSE(app, argc, argv);
  try {
    return windtunnel::main_of_rank(arguments);
  } catch (const std::exception& error) {
    std::cerr << "windtunnel-rank: " << error.what() << '\n';
    return windtunnel::kExitRunFailed;
  }
}
