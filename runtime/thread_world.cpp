#include "runtime/thread_world.h"

#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "kernels/device/cpu_device.h"
#include "kernels/inprocess/inprocess_communicator.h"
#include "runtime/comm_groups.h"
#include "runtime/device_rank.h"

namespace windtunnel {

namespace {

constexpr std::int64_t kAddressesPerRank = std::int64_t{1} << 33;

template <class T>
class ThreadWorld {
 public:
  ThreadWorld(const Program& program, const ExecutionOptions& options)
      : program_(program),
        options_(options),
        ranks_(static_cast<std::size_t>(program.mesh.ranks())) {
    out_.memory.resize(ranks_);
    out_.records.resize(ranks_);
    out_.record.ranks.resize(ranks_);
    out_.record.steps.resize(static_cast<std::size_t>(options.steps));
    out_.losses.resize(static_cast<std::size_t>(options.steps), 0.0);
  }

  ThreadWorldRecord run() {
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      threads.emplace_back([this, rank] { run_rank(static_cast<int>(rank)); });
    }
    for (std::thread& thread : threads) thread.join();
    if (!failure_.empty()) throw ExecutionError(failure_);
    return std::move(out_);
  }

 private:
  void run_rank(int rank) {
    try {
      const std::unique_ptr<Communicator> communicator =
          world_.join(rank, groups_of(program_, rank));
      CpuDevice device({.streams = static_cast<int>(Stream::count),
                        .events = DeviceRank<T>::registers(program_, rank),
                        .capacity_bytes = kAddressesPerRank});
      DeviceRank<T> worker(program_,
                           {.rank = rank,
                            .seed = options_.seed,
                            .recording = Recording::values,
                            .on_failure = [this](const std::string& why) { fail(why); }},
                           device, *communicator);
      worker.start();
      for (int step = 0; step < options_.steps; ++step) keep(rank, step, worker.run_step(step, {}));
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }

  /// The first failure is the cause of those that follow.
  void fail(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = why;
    world_.fail(failure_);
  }

  void keep(int rank, int step, RankStep result) {
    const std::lock_guard lock(mutex_);
    const auto r = static_cast<std::size_t>(rank);
    StepRecord& all = out_.record.steps[static_cast<std::size_t>(step)];
    const auto append = [](auto& to, auto& from) {
      to.insert(to.end(), std::make_move_iterator(from.begin()),
                std::make_move_iterator(from.end()));
    };
    append(all.losses, result.record.losses);
    append(all.norms, result.record.norms);
    append(all.used, result.record.used);
    append(all.gradients, result.record.gradients);
    append(all.updated, result.record.updated);
    if (result.has_loss) out_.losses[static_cast<std::size_t>(step)] = result.loss;
    for (const auto& [key, traffic] : result.traffic) {
      Traffic& sum = out_.record.ranks[r].traffic[key];
      sum.count += traffic.count;
      sum.bytes += traffic.bytes;
    }
    out_.memory[r] = result.memory;
    out_.records[r].assign(result.records.begin(), result.records.end());
  }

  const Program& program_;
  const ExecutionOptions& options_;
  std::size_t ranks_;
  InProcessWorld world_;
  std::mutex mutex_;
  ThreadWorldRecord out_;
  std::string failure_;
};

}  // namespace

ThreadWorldRecord execute_in_threads(const Program& program, const ExecutionOptions& options) {
  switch (options.mode) {
    case NumberMode::field:
      return ThreadWorld<reference::Field>(program, options).run();
    case NumberMode::fp64:
      return ThreadWorld<double>(program, options).run();
    case NumberMode::fp32:
      break;
  }
  return ThreadWorld<float>(program, options).run();
}

}  // namespace windtunnel
