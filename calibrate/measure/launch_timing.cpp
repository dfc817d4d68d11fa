#include "calibrate/measure/launch_timing.h"

#include <future>
#include <vector>

#include "calibrate/measure/stopwatch.h"

namespace windtunnel {

namespace {

constexpr int kTimings = 50;
constexpr int kTasks = 200;  // in one timing: far more than the clock's grain, far less than memory

/// The first task holds the stream until all others are queued, as in a step whose host runs ahead.
double seconds_per_launch(Device& device) {
  std::promise<void> queued;
  device.enqueue(0, [&queued] { queued.get_future().wait(); });
  const double begin = clock_seconds();
  for (int i = 0; i < kTasks; ++i) device.enqueue(0, [] {});
  const double end = clock_seconds();
  queued.set_value();
  device.synchronize();
  return (end - begin) / kTasks;
}

double seconds_of_idle_stream(Device& device) {
  const double begin = clock_seconds();
  device.enqueue(0, [] {});
  device.synchronize();
  return clock_seconds() - begin;
}

}  // namespace

LaunchTiming measure_launch(Device& device) {
  seconds_per_launch(device);  // starts the stream
  std::vector<double> launch, synchronize;
  for (int i = 0; i < kTimings; ++i) {
    launch.push_back(seconds_per_launch(device));
    synchronize.push_back(seconds_of_idle_stream(device));
  }
  return {.launch = summarise(launch), .synchronize = summarise(synchronize)};
}

}  // namespace windtunnel
