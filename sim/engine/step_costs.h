#pragma once
// What every op costs: the numbers the engine is given. Whoever prices a program (cost models, the
// `unit` device) fills these in; the engine knows no model and no hardware.
//
// Costs are integer picoseconds, rounded once by the caller. With `draws` > 1 every op has one cost
// per draw of the uncertain quantities and the engine answers for all draws in one sweep; draws
// never meet.

#include <array>
#include <cstdint>
#include <vector>

#include "core/units.h"
#include "program/kernel.h"
#include "program/program.h"
#include "sim/engine/link_flows.h"

namespace windtunnel {

/// Transfers as the overlap tables know them: a collective's kind, or point-to-point.
enum class TransferKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  point_to_point,
  count
};
constexpr TransferKind kind_of(Collective collective) {
  return static_cast<TransferKind>(collective);
}

/// Tier T1: how compute and a transfer on another stream of the same device slow each other. Each
/// entry is extra time as a fraction (0.1: ten per cent longer while both are active); all zero is
/// tier T0. Valid range: 0 to 8.
struct Theft {
  using PerTransfer = std::array<double, static_cast<std::size_t>(TransferKind::count)>;
  using PerClass = std::array<PerTransfer, static_cast<std::size_t>(KernelClass::none) + 1>;

  PerClass compute{};      // [KernelClass][TransferKind]: compute beside a transfer
  PerTransfer transfer{};  // [TransferKind]: a collective beside compute
};

/// The largest deviation that noise is drawn with: durations stay positive.
constexpr double kMostNoise = 0.25;

/// Noise of a collective or transfer. Members of a group end apart: a member takes the price, less
/// `early`, times a draw of its own (of deviation `member`) and one that the group shares
/// (`group`). Valid ranges: 0 to 0.25, `early` 0 to 0.9.
struct TransferNoise {
  double group = 0.0, member = 0.0;  // relative standard deviations
  double early = 0.0;                // fraction of the price
  bool any() const { return group > 0.0 || member > 0.0 || early > 0.0; }
};

/// Noise from call to call, drawn from (seed, rank, call, op).
struct Jitter {
  double sigma = 0.0;  // of compute ops: relative standard deviation, 0 to 0.25
  std::uint64_t seed = 0;
  std::vector<TransferNoise> transfers{};  // [op]; empty: none
  bool any() const { return sigma > 0.0 || !transfers.empty(); }
};

/// A rank whose compute takes `factor` times as long. Valid range: above 0, to 1000.
struct SlowRank {
  int rank = 0;
  double factor = 1.0;
};

/// A rank whose link is slow: collectives and transfers on `comm` that it takes part in take
/// `factor` times as long (the largest of the members' factors). Valid range: 1 to 1000.
struct SlowLink {
  int rank = 0;
  std::uint32_t comm = 0;  // index into Program::comms
  double factor = 1.0;
  std::uint32_t by_op = kNone;  // index into StepCosts::link_factors, which count instead
};

struct StepCosts {
  int draws = 1;
  /// [op * draws + draw], op an index of Program::ops. Compute, collectives, sends and host work; a
  /// transfer costs what its send says; alloc, free, record, wait, host_sync and recv are not read.
  std::vector<Picoseconds> duration;
  std::vector<Picoseconds> launch;  // [draw]: host time of one kernel launch
  /// Launches the host may be ahead of the compute stream; 0: no bound.
  int run_ahead = 0;
  std::vector<double> role_factor;  // [role]: on the role's compute ops; empty: 1
  std::vector<SlowRank> slow_ranks;
  std::vector<SlowLink> slow_links;
  /// [set][op] What a slow link does to each collective and send, where a small message is slowed
  /// less than a large one.
  std::vector<std::vector<double>> link_factors;
  Jitter jitter;
  Theft theft;
  LinkFlows flows;  // tier T2; none: transfers of different communicators do not meet

  const Picoseconds* of(std::uint32_t op) const {
    return duration.data() + std::size_t{op} * static_cast<std::size_t>(draws);
  }
};

/// Draw 0 alone.
StepCosts nominal_costs(const StepCosts& costs);

/// Launches between two looks at how far the device has come; stretches of ops are at most that
/// long. 0: never looks.
constexpr int launches_per_note(int run_ahead) {
  constexpr int kNotesPerWindow = 16;
  if (run_ahead <= 0) return 0;
  return run_ahead < kNotesPerWindow ? 1 : run_ahead / kNotesPerWindow;
}

}  // namespace windtunnel
