#pragma once
// The time of one kernel on a device: a first run that is not counted, then runs until a budget of
// time is used up.
//
// All runs are one task of stream 0, on the thread that a training step's kernels run on. Kernels
// shorter than the clock can tell are timed several at once. The mean of all is the time; the
// spread leaves outliers out by the rule of fit/robust.h.

#include "calibrate/fit/robust.h"
#include "calibrate/measure/prepared_kernel.h"

namespace windtunnel {

struct TimingBudget {
  double seconds = 0.05;
  int least = 3;   // timings, unless one run alone takes longer than the budget: then one
  int most = 200;  // more tell nothing new
};

struct KernelTimingOptions {
  TimingBudget budget{};
  OperandSettings operands{};
};

struct KernelTiming {
  RobustSummary summary;  // seconds of one run
  int runs = 0;           // all that were timed
};

/// T: double or float. Throws OutOfDeviceMemory, ExecutionError.
template <class T>
KernelTiming measure_kernel(const KernelTask& task, const KernelTimingOptions& options,
                            Device& device);

}  // namespace windtunnel
