#pragma once
// One scenario of `validate`: what was predicted, what was measured, how far apart they are.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace windtunnel {

/// What a simulation answers for a row; peaks are of the stage of `peak_rank` where the row names
/// one, else each of its fullest stage.
struct Prediction {
  double step_time_s = 0.0;
  std::array<double, 2> step_time_interval_s{};  // low = high: there is none
  std::int64_t peak_allocated_bytes = 0, peak_reserved_bytes = 0, peak_device_bytes = 0;
  bool oom = false;  // probability >= 0.5
};

struct ValidationRow {
  std::string id, source, group;  // source: the name of the set
  std::vector<std::string> assumed;
  std::optional<Measured> measured;
  std::optional<Prediction> predicted;  // nullopt: refused
  std::string refused;                  // why it could not be lowered; empty: it was
  // Scores; nullopt where the row does not state what they need.
  std::optional<double> step_time_error, memory_error;  // predicted / measured - 1
  std::optional<bool> interval_holds;
};

/// Fills in the scores.
void score(ValidationRow& row);

/// The measured step time, or the middle of the measured range.
std::optional<double> measured_step_time(const Measured& measured);

/// (high - low) / middle of the measured range, kDefaultSpread where there is none.
double measured_spread(const Measured& measured);

/// True: it ran out of memory. False: it did not, which a step time says too.
std::optional<bool> measured_oom(const Measured& measured);

/// Whether `assumed` names something that decides how much memory is needed: such a row's memory
/// was not run as written, so it stays out of the OOM matrix.
bool assumes_memory(const std::vector<std::string>& assumed);

/// The error against the peak the row states (allocated, else reserved, else device). With
/// `memory_unit` assumed, against the nearer of the number read as GB and as GiB.
std::optional<double> memory_error(const ValidationRow& row);

}  // namespace windtunnel
