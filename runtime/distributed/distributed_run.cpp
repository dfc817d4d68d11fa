#include "runtime/distributed/distributed_run.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "kernels/device/cpu_device.h"
#include "kernels/mpi/clock_offset.h"
#include "kernels/mpi/mpi_communicator.h"
#include "kernels/mpi/mpi_counts.h"
#include "program/op_names.h"
#include "runtime/comm_groups.h"
#include "runtime/distributed/group_probe.h"

namespace windtunnel {

namespace {

std::vector<WireTraffic> traffic_of(const std::vector<WireCount>& counts) {
  std::vector<WireTraffic> traffic;
  for (const WireCount& c : counts) {
    for (std::size_t kind = 0; kind < c.calls.size(); ++kind) {
      if (c.calls[kind] == 0) continue;
      traffic.push_back({.communicator = c.communicator,
                         .kind = static_cast<std::int32_t>(kind),
                         .count = c.calls[kind],
                         .bytes = c.bytes[kind]});
    }
  }
  return traffic;
}

/// All ranks go on from here, with one zero: rank 0's moment, by each rank's own clock.
StepClock common_zero(const MpiWorld& world) {
  const StepClock::Clock::duration offset = clock_offset(world);
  world.barrier();
  const StepClock::Clock::time_point mine = StepClock::Clock::now();
  const std::int64_t ticks = mine.time_since_epoch().count();
  std::string bytes(sizeof ticks, '\0');
  std::memcpy(bytes.data(), &ticks, sizeof ticks);
  const std::string zero = world.broadcast(bytes);
  std::int64_t common = 0;
  std::memcpy(&common, zero.data(), sizeof common);
  return StepClock(StepClock::Clock::time_point(StepClock::Clock::duration(common) - offset));
}

bool has_passed(double seconds, StepClock::Clock::time_point since) {
  return std::chrono::duration<double>(StepClock::Clock::now() - since).count() >= seconds;
}

/// What rank 0 says of a time that ranks measure by themselves.
bool agreed(bool mine, const DistributedRun& run, const MpiWorld& world) {
  return run.settle_s == 0.0 || world.broadcast(mine ? "1" : "0") == "1";
}

template <class T>
RankOutcome run_numbers(const DistributedRun& run, const MpiWorld& world, RankStatus& status) {
  const int rank = world.rank();
  const std::vector<GroupMembers> groups = groups_of(run.program, rank);
  const std::unique_ptr<Communicator> communicator = make_mpi_communicator(
      world, groups, run.emulated == nullptr ? Waiting::yields : Waiting::rests);
  const std::string wrong = probe_groups(*communicator, groups, rank);
  if (!wrong.empty()) throw ExecutionError(wrong);
  CpuDevice device({.streams = static_cast<int>(Stream::count),
                    .events = DeviceRank<T>::registers(run.program, rank),
                    .capacity_bytes = run.capacity_bytes});
  DeviceRank<T> worker(run.program,
                       {.rank = rank,
                        .seed = run.seed,
                        .recording = run.recording,
                        .emulated = run.emulated,
                        .progress = &status.progress,
                        .on_failure = run.on_failure},
                       device, *communicator);
  worker.start();
  status.state = RankState::running;
  RankOutcome outcome{.rank = rank};
  const auto note_speed = [&] {
    if (!run.measure_speed) return;
    world.barrier();
    outcome.speeds.push_back(run.measure_speed());
  };
  const auto begun = StepClock::Clock::now();
  int step = 0;
  const auto run_step = [&] {
    take_wire_counts();
    return worker.run_step(step++, common_zero(world));
  };
  while (step < run.warm_up || !agreed(has_passed(run.settle_s, begun), run, world)) run_step();
  for (int i = 0; i < run.steps; ++i) {
    note_speed();
    RankStep result = run_step();
    outcome.steps.push_back({.loss = result.loss,
                             .has_loss = result.has_loss,
                             .end = result.end,
                             .memory = result.memory,
                             .traffic = traffic_of(take_wire_counts()),
                             .records = {result.records.begin(), result.records.end()},
                             .values = std::move(result.record)});
    for (TraceRecord& record : outcome.steps.back().records) record.lane = rank;
  }
  note_speed();
  return outcome;
}

}  // namespace

RankOutcome run_distributed(const DistributedRun& run, const MpiWorld& world, RankStatus& status) {
  switch (run.numbers) {
    case RunNumbers::fp32:
      return run_numbers<float>(run, world, status);
    case RunNumbers::fp64:
      return run_numbers<double>(run, world, status);
    case RunNumbers::field:
      break;
  }
  return run_numbers<reference::Field>(run, world, status);
}

}  // namespace windtunnel
