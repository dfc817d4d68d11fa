#pragma once
// One process measures what one process can: kernels, launches, storage.
//
// Order: what a stream costs; the scenarios' kernels, which share six tenths of the budget;
// storage; the grid until the budget is used up. The dearest shape of every kernel is measured
// whatever the budget. What the file of samples holds already is not measured again.

#include <cstdint>
#include <functional>
#include <string>

#include "calibrate/measurement_plan.h"
#include "calibrate/sampler.h"
#include "kernels/device/device.h"

namespace windtunnel {

struct SessionProgress {
  std::string what;
  int done = 0, planned = 0;
  double seconds_left = 0.0;  // of the budget
};

/// Ranks that measure together take every kernel at the same time, as they do in a step: so what
/// they take from each other is in its time, and in the anchors around it.
struct Together {
  std::function<bool(bool)> agreed = [](bool mine) { return mine; };  // what the first rank says
  std::function<void()> meet = [] {};                                 // returns when all are there
};

struct SessionOptions {
  double budget_s = 60.0;
  std::uint64_t seed = 1;      // of the operands' contents
  std::string storage_folder;  // where checkpoints would go
  std::function<void(const SessionProgress&)> report = [](const SessionProgress&) {};
  Together together{};
};

/// T: the number type of the device's kernels. Shapes that do not fit into memory are left out.
/// Throws ExecutionError, InputError (samples or storage cannot be written).
template <class T>
void measure_alone(const MeasurementPlan& plan, const SessionOptions& options, Device& device,
                   Sampler& sampler);

}  // namespace windtunnel
