#include "calibrate/measure/overlap_timing.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>

#include "calibrate/fit/robust.h"
#include "calibrate/measure/stopwatch.h"

namespace windtunnel {

namespace {

constexpr double kMostTheft = 8.0;  // sim/engine/step_costs.h
constexpr int kKernelsAlone = 10;

double theft(double beside, double alone) {
  if (alone <= 0.0 || beside <= 0.0) return 0.0;
  return std::clamp(beside / alone - 1.0, 0.0, kMostTheft);
}

double median_or_zero(const std::vector<double>& seconds) {
  return seconds.empty() ? 0.0 : median(seconds);
}

std::vector<double> durations(const std::vector<TransferStamps>& stamps) {
  std::vector<double> seconds;
  for (const TransferStamps& s : stamps) seconds.push_back(s.ended_s - s.arrived_s);
  return seconds;
}

/// What went wrong on a stream, kept for the host.
struct Failure {
  std::exception_ptr error;

  template <class Body>
  void guard(Body body) {
    try {
      body();
    } catch (...) {
      error = std::current_exception();
    }
  }
  void rethrow() const {
    if (error) std::rethrow_exception(error);
  }
};

}  // namespace

double OverlapTiming::kernel_theft() const {
  return theft(kernel_beside, kernel_alone);
}

double OverlapTiming::transfer_theft() const {
  return theft(transfer_beside, transfer_alone);
}

template <class T>
OverlapTiming measure_overlap(const OverlapPlan& plan, Device& device, Communicator& communicator,
                              const Barrier& barrier) {
  PreparedKernel<T> kernel(plan.kernel, plan.operands, device);
  const TransferMemory memory(plan.transfer, device);
  std::vector<double> alone, beside;
  std::vector<TransferStamps> transfers_alone, transfers_beside;
  std::atomic<bool> done{false};
  Failure of_kernel, of_transfer;
  const auto run_once = [&] {
    kernel.refresh();
    const double begin = clock_seconds();
    kernel.run();
    return clock_seconds() - begin;
  };
  device.enqueue(0, [&] {
    of_kernel.guard([&] {
      run_once();
      for (int i = 0; i < kKernelsAlone; ++i) alone.push_back(run_once());
    });
  });
  device.synchronize();
  const auto transfer = [&](std::vector<TransferStamps>& into) {
    device.enqueue(1, [&] {
      of_transfer.guard(
          [&] { into = measure_transfer(communicator, plan.transfer, barrier, memory); });
      done = true;
    });
  };
  transfer(transfers_alone);
  device.synchronize();
  done = false;
  device.enqueue(0, [&] {
    of_kernel.guard([&] {
      while (!done) {
        const double seconds = run_once();
        if (!done) beside.push_back(seconds);
      }
    });
  });
  transfer(transfers_beside);
  device.synchronize();
  of_kernel.rethrow();
  of_transfer.rethrow();
  return {.kernel_alone = median_or_zero(alone),
          .kernel_beside = median_or_zero(beside),
          .transfer_alone = median_or_zero(durations(transfers_alone)),
          .transfer_beside = median_or_zero(durations(transfers_beside))};
}

template OverlapTiming measure_overlap<float>(const OverlapPlan&, Device&, Communicator&,
                                              const Barrier&);
template OverlapTiming measure_overlap<double>(const OverlapPlan&, Device&, Communicator&,
                                               const Barrier&);

}  // namespace windtunnel
