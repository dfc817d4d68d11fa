#include "calibrate/measure/kernel_timing.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "calibrate/measure/stopwatch.h"

namespace windtunnel {

namespace {

constexpr double kShortestTiming = 20e-6;  // a clock call takes some 25 ns: 0.3 % of this
constexpr int kMostAtOnce = 4096;

template <class T>
double timed(PreparedKernel<T>& kernel, int at_once) {
  kernel.refresh();
  const double begin = clock_seconds();
  for (int i = 0; i < at_once; ++i) kernel.run();
  return (clock_seconds() - begin) / at_once;
}

template <class T>
std::vector<double> timings(PreparedKernel<T>& kernel, const TimingBudget& budget, int& runs) {
  const double begin = clock_seconds();
  const double first = timed(kernel, 1);  // touches all memory, not counted
  const bool too_long = first > budget.seconds;
  int at_once = 1;
  if (!too_long && !kernel.decays()) {
    const double warm = timed(kernel, 1);
    at_once = static_cast<int>(
        std::clamp(std::ceil(kShortestTiming / std::max(warm, 1e-9)), 1.0, double{kMostAtOnce}));
  }
  std::vector<double> seconds;
  const auto least = static_cast<std::size_t>(too_long ? 1 : budget.least);
  while (seconds.size() < least || (clock_seconds() - begin < budget.seconds &&
                                    seconds.size() < static_cast<std::size_t>(budget.most))) {
    seconds.push_back(timed(kernel, at_once));
    runs += at_once;
  }
  return seconds;
}

}  // namespace

template <class T>
KernelTiming measure_kernel(const KernelTask& task, const KernelTimingOptions& options,
                            Device& device) {
  PreparedKernel<T> kernel(task, options.operands, device);
  KernelTiming result;
  std::vector<double> seconds;
  std::string failure;
  device.enqueue(0, [&] {
    try {
      seconds = timings(kernel, options.budget, result.runs);
    } catch (const std::exception& error) {
      failure = error.what();
    }
  });
  device.synchronize();
  if (!failure.empty()) throw ExecutionError(failure);
  result.summary = summarise(seconds);
  return result;
}

template KernelTiming measure_kernel<float>(const KernelTask&, const KernelTimingOptions&, Device&);
template KernelTiming measure_kernel<double>(const KernelTask&, const KernelTimingOptions&,
                                             Device&);

}  // namespace windtunnel
