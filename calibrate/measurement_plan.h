#pragma once
// What a calibration measures, in order: first what the scenarios need, then a grid around it.
//
// Scenario shapes: the dearest shape of every kernel first, so that no kernel is left without a
// price, then all others, the dearest first. Grid: for every kernel and type, points that are one
// of its scenario shapes with each free dimension times 2^e, e in [-2, 1]. The exponents of point n
// are frac(offset + n alpha_i), a sequence that fills the cube evenly however many of its points
// are used (Roberts 2018, "The Unreasonable Effectiveness of Quasirandom Sequences": alpha_i =
// g^-(i+1), g^(d+1) = g + 1); the offset is the seed's. Round by round, one point of every kernel.

#include <cstdint>
#include <span>
#include <vector>

#include "calibrate/measure/prepared_kernel.h"
#include "calibrate/measure/program_shapes.h"
#include "program/program.h"

namespace windtunnel {

struct PlannedKernel {
  KernelTask task;
  std::int64_t touched_bytes = 0;  // of the step it is from
  bool needed = false;             // measured even when the budget is used up
};

/// What one measurement may take: bytes of all operands, and the rough time of one run
/// (program_shapes.h), which a slow kernel exceeds tenfold.
struct Limits {
  std::int64_t bytes = std::int64_t{1} << 30;
  double rough_seconds = 0.01;
};

struct PlanOptions {
  std::uint64_t seed = 1;
  int points = 24;    // of each kernel and type
  Limits of_point{};  // larger points are left out: one would take the budget of many
  /// Scenario shapes beyond are halved in every free dimension until they are within.
  Limits of_scenario{.bytes = std::int64_t{4} << 30, .rough_seconds = 1.0};
};

struct MeasurementPlan {
  std::vector<PlannedKernel> scenario, grid;
  std::vector<TransferUse> transfers;  // of all programs, one per kind, type, size and groups
};

MeasurementPlan plan_measurements(std::span<const Program> programs, const PlanOptions& options);

}  // namespace windtunnel
