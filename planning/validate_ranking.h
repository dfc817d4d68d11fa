#pragma once
// Does the prediction put the runs of one group in the right order, and is its best one good?
//
// A run that ran out of memory is infinitely slow, in what was measured and in what was predicted.
// Kendall's tau over the pairs of a group whose measured times differ: (concordant - discordant) /
// pairs. A pair closer than the measured spread is a tie and not counted; a counted pair that the
// prediction does not tell apart adds nothing above and one below.
// Regret: measured time of the run predicted best / the best measured time - 1; infinite when that
// run ran out of memory. Source of both: the format's page on `validate`.

#include <optional>
#include <span>

namespace windtunnel {

/// Runs repeat within about 5 %: the spread of a row that states none.
constexpr double kDefaultSpread = 0.05;

/// One run of a group, times in seconds.
struct RankedRun {
  std::optional<double> measured_s;  // nullopt: it ran out of memory
  double predicted_s = 0.0;
  bool predicted_oom = false;
  double spread = kDefaultSpread;  // relative, of the measured time
};

struct GroupRanking {
  std::optional<double> kendall_tau;  // nullopt: all pairs are ties
  std::optional<double> regret;       // nullopt: no run of the group worked; may be infinite
};

/// Of several runs predicted to run out of memory the fastest comes first, of equal ones the first.
/// O(runs^2).
GroupRanking rank_group(std::span<const RankedRun> runs);

/// The mean over groups.
struct RankingSummary {
  int groups = 0;                       // with two runs or more, one of which worked
  std::optional<double> kendall_tau;    // over groups that have one
  std::optional<double> regret;         // infinite when a run predicted best ran out of memory
  int oom_choices = 0;                  // groups with an infinite regret
  std::optional<double> finite_regret;  // over the other groups
};

RankingSummary summarize_rankings(std::span<const GroupRanking> groups);

}  // namespace windtunnel
