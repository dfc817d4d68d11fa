#include "calibrate/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/measure/kernel_timing.h"
#include "calibrate/measure/launch_timing.h"
#include "calibrate/measure/stopwatch.h"
#include "calibrate/measure/storage_timing.h"

namespace windtunnel {

namespace {

constexpr double kScenarioShare = 0.6;
// Of one shape, seconds: a median of some ten repetitions of a kernel of some 100 us at least, and
// not more than makes it surer than the machine's speed is steady.
constexpr double kLeastOfOne = 0.002, kMostOfOne = 0.2, kOfGridPoint = 0.02;
// Bytes written to storage per second of budget: at 100 MB/s a few per cent of it.
constexpr double kStoragePerSecond = 1 << 20;
constexpr double kLeastStorage = 4 << 20, kMostStorage = 64 << 20;

template <class T>
class Session {
 public:
  Session(const MeasurementPlan& plan, const SessionOptions& options, Device& device,
          Sampler& sampler)
      : plan_(plan),
        options_(options),
        device_(device),
        sampler_(sampler),
        deadline_(clock_seconds() + options.budget_s) {}

  void run() {
    launches();
    const double share = kScenarioShare * options_.budget_s /
                         static_cast<double>(std::max<std::size_t>(1, plan_.scenario.size()));
    kernels(plan_.scenario, std::clamp(share, kLeastOfOne, kMostOfOne));
    if (left() > 0.0) storage();
    options_.together.meet();
    kernels(plan_.grid, kOfGridPoint);
  }

 private:
  double left() const { return deadline_ - clock_seconds(); }

  void report(const std::string& what) {
    const auto planned = static_cast<int>(plan_.scenario.size() + plan_.grid.size());
    options_.report(
        {.what = what, .done = done_, .planned = planned, .seconds_left = std::max(0.0, left())});
  }

  void launches() {
    report("launches");
    std::vector<Sample> both(2);
    both[0].kind = SampleKind::launch;
    both[1].kind = SampleKind::synchronize;
    sampler_.take_all(both, [&](std::vector<Sample>& samples) {
      const LaunchTiming timing = measure_launch(device_);
      set_times(samples[0], timing.launch, timing.launch.kept);
      set_times(samples[1], timing.synchronize, timing.synchronize.kept);
    });
  }

  void kernels(const std::vector<PlannedKernel>& planned, double seconds) {
    for (const PlannedKernel& p : planned) {
      ++done_;
      const Sample sample{.kind = SampleKind::kernel, .shape = p.task.shape};
      if (!options_.together.agreed((p.needed || left() > 0.0) && !sampler_.holds(sample)))
        continue;
      report(name_of(p.task.shape.kernel));
      const KernelTimingOptions options{
          .budget = {.seconds = seconds},
          .operands = {.touched_bytes = p.touched_bytes,
                       .rotated_bytes = rotated_bytes(p.touched_bytes),
                       .seed = options_.seed}};
      try {
        options_.together.meet();
        sampler_.take(sample, [&](Sample& s) { measure(s, p.task, options); });
      } catch (const OutOfDeviceMemory&) {
        continue;  // no run of this shape is possible either
      }
    }
  }

  /// The anchors behind it are measured by all ranks at once too.
  void measure(Sample& sample, const KernelTask& task, const KernelTimingOptions& options) {
    try {
      const KernelTiming timing = measure_kernel<T>(task, options, device_);
      set_times(sample, timing.summary, timing.runs);
    } catch (...) {
      options_.together.meet();
      throw;
    }
    options_.together.meet();
  }

  void storage() {
    if (options_.storage_folder.empty()) return;
    report("storage");
    const auto bytes = static_cast<std::int64_t>(
        std::clamp(options_.budget_s * kStoragePerSecond, kLeastStorage, kMostStorage));
    std::vector<Sample> both(2);
    both[0].kind = SampleKind::storage_write;
    both[1].kind = SampleKind::storage_read;
    for (Sample& s : both) s.bytes = bytes;
    sampler_.take_all(both, [&](std::vector<Sample>& samples) {
      const StorageTiming timing = measure_storage(options_.storage_folder, {.bytes = bytes});
      set_times(samples[0], timing.write, timing.write.kept);
      set_times(samples[1], timing.read, timing.read.kept);
    });
  }

  const MeasurementPlan& plan_;
  const SessionOptions& options_;
  Device& device_;
  Sampler& sampler_;
  double deadline_;
  int done_ = 0;
};

}  // namespace

template <class T>
void measure_alone(const MeasurementPlan& plan, const SessionOptions& options, Device& device,
                   Sampler& sampler) {
  Session<T>(plan, options, device, sampler).run();
}

template void measure_alone<float>(const MeasurementPlan&, const SessionOptions&, Device&,
                                   Sampler&);
template void measure_alone<double>(const MeasurementPlan&, const SessionOptions&, Device&,
                                    Sampler&);

}  // namespace windtunnel
