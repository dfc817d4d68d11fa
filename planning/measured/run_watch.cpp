#include "planning/measured/run_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "program/mesh.h"
#include "runtime/op_text.h"

namespace windtunnel {

namespace {

constexpr int kTold = 8;  // ranks whose place is told

const Role* role_of(const Program& program, int rank) {
  const int pp = coordinates_of(dense_grid(program.mesh), rank).pp;
  for (const Role& role : program.roles) {
    if (role.pipeline_rank == pp) return &role;
  }
  return nullptr;
}

/// "step 2, call 5 forward.chunk0 (..), gemm_fwd .."
std::string place_of(const Program& program, const StatusBoard& board, int rank) {
  const RankStatus& status = board.rank(rank);
  const RankState state = status.state;
  if (state == RankState::not_started) return "not started";
  if (state == RankState::starting) return "starting";
  if (state == RankState::done) return "done";
  if (status.progress.step < 0) return "at work before the first step";
  const Role* role = role_of(program, rank);
  const std::uint32_t call = status.progress.call, op = status.progress.op;
  if (role == nullptr || call >= role->calls.size() || op >= program.ops.size()) return "running";
  return fmt::format("step {}, call {} {}, {}", status.progress.step.load(), call,
                     text_of(program, role->calls[call]), text_of(program, program.ops[op]));
}

std::string places(const Program& program, const StatusBoard& board, int without) {
  std::string text;
  int told = 0;
  for (int r = 0; r < board.ranks() && told < kTold; ++r) {
    if (r == without) continue;
    text += fmt::format("\n  rank {}: {}", r, place_of(program, board, r));
    ++told;
  }
  const int left = board.ranks() - told - (without >= 0 ? 1 : 0);
  return left > 0 ? text + fmt::format("\n  and {} more", left) : text;
}

/// The rank that mpirun (OpenMPI: "process rank 1 with PID .. exited on signal 9 (Killed)") or a
/// batch system names as the one that went first.
struct NamedRank {
  int rank = -1;
  int signal = 0;
};
NamedRank named_by(const std::string& launcher_said) {
  static const std::regex kKilled(R"(process rank (\d+).*exited\s+on\s+signal\s+(\d+))");
  std::string line = launcher_said;
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::smatch found;
  if (!std::regex_search(line, found, kKilled)) return {};
  return {.rank = std::stoi(found[1]), .signal = std::stoi(found[2])};
}

std::string said_text(const std::string& said) {
  const bool words = said.find_first_not_of(" \n") != std::string::npos;
  return words ? "\nit said:\n" + said : "";
}

}  // namespace

std::string failure_text(const Program& program, const StatusBoard& board, const ChildEnd& end,
                         const std::string& launcher_said) {
  for (int r = 0; r < board.ranks(); ++r) {
    if (board.rank(r).state != RankState::failed) continue;
    return fmt::format("rank {} failed: {}{}", r, board.rank(r).failure.data(),
                       places(program, board, r));
  }
  const NamedRank killed = named_by(launcher_said);
  if (killed.rank >= 0 && killed.rank < board.ranks()) {
    const std::string place = place_of(program, board, killed.rank);
    return fmt::format("rank {} was ended by signal {}{}{}{}", killed.rank, killed.signal,
                       place.starts_with("step") ? " in " : ", ", place,
                       places(program, board, killed.rank));
  }
  if (end.signal != 0) {
    return fmt::format("mpirun was ended by signal {}; its ranks were at{}", end.signal,
                       places(program, board, -1));
  }
  return fmt::format("mpirun ended with status {}; its ranks were at{}{}", end.status,
                     places(program, board, -1), said_text(launcher_said));
}

std::string joined_failure_text(const Program& program, const StatusBoard& board, int rank,
                                const ChildEnd& end, const std::string& said) {
  const RankStatus& status = board.rank(rank);
  if (status.state == RankState::failed) {
    return fmt::format("rank {} failed: {}", rank, status.failure.data());
  }
  const std::string place = place_of(program, board, rank);
  if (end.signal != 0) {
    return fmt::format("rank {} was ended by signal {}: {}", rank, end.signal, place);
  }
  return fmt::format("rank {} ended with status {}: {}{}", rank, end.status, place,
                     said_text(said));
}

std::string joined_hang_text(const Program& program, const StatusBoard& board, int rank,
                             double seconds) {
  return fmt::format("rank {} has finished no op for {:g} s: {}", rank, seconds,
                     place_of(program, board, rank));
}

std::string hang_text(const Program& program, const StatusBoard& board, double seconds) {
  return fmt::format("no rank has finished an op for {:g} s; they are at{}", seconds,
                     places(program, board, -1));
}

}  // namespace windtunnel
