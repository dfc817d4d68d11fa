#include "planning/measured/run_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "calibrate/machine.h"
#include "core/data_dir.h"
#include "core/diagnostics.h"
#include "planning/measured/run_watch.h"
#include "runtime/launch/child_process.h"
#include "runtime/launch/mpi_command.h"
#include "runtime/launch/outcome_files.h"
#include "runtime/launch/private_folder.h"
#include "runtime/launch/status_board.h"
#include "scenarios/scenario_place.h"

namespace windtunnel {

namespace {

constexpr auto kPollEvery = std::chrono::milliseconds(20);

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// It stands beside this program.
std::filesystem::path rank_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "windtunnel-rank";
}

std::vector<std::string> words_of(const RunRequest& request) {
  std::vector<std::string> words{std::filesystem::absolute(request.scenario_path).string(),
                                 "--numbers",
                                 request.numbers,
                                 "--warm-up",
                                 std::to_string(request.warm_up),
                                 "--steps",
                                 std::to_string(request.steps),
                                 "--seed",
                                 std::to_string(request.seed)};
  if (request.settle_s > 0.0) {
    words.insert(words.end(), {"--settle", std::to_string(request.settle_s)});
  }
  if (!request.id.empty()) words.insert(words.end(), {"--id", request.id});
  if (!request.emulate.empty()) {
    words.insert(words.end(), {"--emulate", std::filesystem::absolute(request.emulate).string()});
  }
  if (request.speeds) words.emplace_back("--speeds");
  if (request.recording == Recording::values) words.emplace_back("--values");
  return words;
}

class Watch {
 public:
  Watch(const RankLaunch& launch, const StatusBoard& board,
        const std::optional<JoinedWorld>& joined)
      : launch_(launch), board_(board), joined_(joined) {}

  /// Until the ranks have ended. Throws RunFailed when they hang.
  ChildEnd wait(ChildProcess& child) {
    using Clock = std::chrono::steady_clock;
    auto moved = Clock::now();
    std::uint64_t finished = 0;
    while (true) {
      if (const std::optional<ChildEnd> end = child.poll()) return *end;
      const std::uint64_t now = progress();
      if (now != finished) {
        finished = now;
        moved = Clock::now();
      }
      tell_progress();
      const std::chrono::duration<double> still = Clock::now() - moved;
      if (still.count() > launch_.hang_after_s) {
        const std::string text =
            joined_ ? joined_hang_text(launch_.program, board_, joined_->rank, launch_.hang_after_s)
                    : hang_text(launch_.program, board_, launch_.hang_after_s);
        child.end();
        throw RunFailed(text);
      }
      usleep(static_cast<useconds_t>(std::chrono::microseconds(kPollEvery).count()));
    }
  }

 private:
  /// Ops, and the states before and after them.
  std::uint64_t progress() const {
    std::uint64_t sum = board_.finished();
    for (int r = 0; r < board_.ranks(); ++r) {
      sum += static_cast<std::uint64_t>(board_.rank(r).state.load());
    }
    return sum;
  }

  void tell_progress() {
    if (!launch_.progress) return;
    std::string said = board_.rank(0).said();
    if (said.empty() || said == said_) return;
    said_ = std::move(said);
    launch_.progress(said_, board_.rank(0).seconds_left);
  }

  const RankLaunch& launch_;
  std::string said_;
  const StatusBoard& board_;
  const std::optional<JoinedWorld>& joined_;
};

std::vector<RankOutcome> collect(const std::string& folder, int ranks) {
  std::vector<RankOutcome> outcomes;
  for (int r = 0; r < ranks; ++r) {
    outcomes.push_back(unpack_outcome(read_all(outcome_path(folder, r))));
  }
  return outcomes;
}

}  // namespace

bool has_rank_program() {
  std::error_code none;
  return std::filesystem::exists(rank_program(), none);
}

void require_own_ranks(const char* verb) {
  const std::optional<JoinedWorld> world = joined_world();
  if (!world) return;
  refuse_file("",
              fmt::format("{} starts ranks several times, and those of {} can be joined once", verb,
                          world->launcher),
              fmt::format("without {}; in its ranks: run, calibrate", world->launcher));
}

void launch_ranks(const RankLaunch& launch, const std::function<void(const std::string&)>& after) {
  const std::optional<JoinedWorld> joined = joined_world();
  static bool has_joined = false;
  if (joined && has_joined) {
    refuse_file("",
                fmt::format("ranks of {} can be joined once, and the file holds several scenarios",
                            joined->launcher),
                "name one with --id");
  }
  has_joined = joined.has_value();
  if (joined && joined->ranks != launch.ranks) {
    refuse_file("",
                fmt::format("the plan has {} ranks, and {} started {}", launch.ranks,
                            joined->launcher, joined->ranks),
                fmt::format("start {} of them, or none: windtunnel starts its own", launch.ranks));
  }
  if (!joined && !has_mpirun()) {
    throw RunImpossible(
        "there is no mpirun on the PATH to start the ranks with\n"
        "  hint: sudo apt-get install -y openmpi-bin");
  }
  if (!has_rank_program()) {
    throw RunImpossible(
        "this windtunnel was built without MPI, which ranks need to talk\n"
        "  hint: install libopenmpi-dev and openmpi-bin, and build again");
  }
  std::vector<std::string> words{rank_program().string()};
  PrivateFolder folder;
  StatusBoard board = StatusBoard::create(status_path(folder.path()), launch.ranks);
  words.insert(words.end(), launch.words.begin(), launch.words.end());
  words.insert(words.end(), {"--folder", folder.path(), "--ranks", std::to_string(launch.ranks)});
  if (joined) words.emplace_back("--joined");
  ChildCommand command = joined ? ChildCommand{.words = std::move(words),
                                               .environment = {},
                                               .output = output_path(folder.path())}
                                : mpi_command({.ranks = launch.ranks,
                                               .words = std::move(words),
                                               .folder = folder.path(),
                                               .output = output_path(folder.path())});
  command.environment.push_back("WINDTUNNEL_DATA=" + data_dir());
  ChildProcess child(command);
  folder.own_group(child.group());
  const ChildEnd end = Watch(launch, board, joined).wait(child);
  if (end.status != 0) {
    const std::string said = read_all(output_path(folder.path()));
    throw RunFailed(joined ? joined_failure_text(launch.program, board, joined->rank, end, said)
                           : failure_text(launch.program, board, end, said));
  }
  if (joined && joined->rank != 0) throw FirstRankTells{};
  after(folder.path());
}

std::vector<RankOutcome> run_program(const RunRequest& request, const Lowered& lowered) {
  const int ranks = static_cast<int>(lowered.program.mesh.ranks());
  std::vector<RankOutcome> outcomes;
  launch_ranks({.ranks = ranks,
                .program = lowered.program,
                .words = words_of(request),
                .hang_after_s = request.hang_after_s},
               [&](const std::string& folder) { outcomes = collect(folder, ranks); });
  return outcomes;
}

std::string crowding_text(std::int64_t ranks) {
  const int cores = this_machine().cores;
  if (joined_world() || ranks <= cores) return "";
  return fmt::format(
      "{} ranks share {} processors and wait for each other's turns: times are not those of {} "
      "devices (run --emulate, docs/runtime.md)",
      ranks, cores, ranks);
}

void require_executable(const Lowered& lowered, bool emulated) {
  const Scenario& s = lowered.resolved.scenario;
  if (s.cluster.device != "cpu" && !emulated) {
    throw InputError({diagnostic_at(
        s, "cluster.device",
        fmt::format("ranks run on the CPU device, not on {}", s.cluster.device),
        "device: cpu; or run --emulate PROFILE, which takes kernels' times from a profile")});
  }
  for (std::size_t i = 0; i < s.cluster.degraded.size(); ++i) {
    if (emulated && !s.cluster.degraded[i].nic_bandwidth) continue;
    throw InputError({diagnostic_at(
        s, fmt::format("cluster.degraded.{}", i),
        emulated ? "an emulated run slows kernels, not network adapters"
                 : "a run takes the machine as it is",
        "simulate takes all of degraded, run --emulate PROFILE the slowdown of ranks")});
  }
  if (lowered.resolved.plan.quantizes()) {
    throw InputError(
        {diagnostic_at(s, "plan.precision.compute",
                       fmt::format("{} products are simulated, not run: the CPU device "
                                   "has no such numbers",
                                   name_of(lowered.resolved.plan.compute)),
                       "precision: {compute: fp32}; simulate takes this scenario")});
  }
  if (const std::optional<std::string> wrong = find_unstorable(lowered.program)) {
    throw InputError({diagnostic_at(s, "plan.precision.compute",
                                    fmt::format("the CPU device stores fp32: {}", *wrong),
                                    "precision: {compute: fp32}")});
  }
}

}  // namespace windtunnel
