#pragma once
// One rank of a program on a device: the host walks the calls, resolves operands, and hands every
// op to its stream.
//
// The host never waits but where the program says so (`host_sync`) and at the end of a step. What
// goes wrong on a stream is kept: the first failure stops the kernels and transfers behind it
// (event marks are still reached, so nothing hangs), and `run_step` throws it.

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernels/device/communicator.h"
#include "kernels/device/device.h"
#include "program/event_registers.h"
#include "program/mesh.h"
#include "program/program.h"
#include "program/trace.h"
#include "runtime/emulated_compute.h"
#include "runtime/execution.h"
#include "runtime/op_task.h"
#include "runtime/rank_blocks.h"
#include "runtime/rank_params.h"
#include "runtime/rank_progress.h"
#include "runtime/step_clock.h"

namespace windtunnel {

enum class Recording : std::uint8_t { none, values };

struct DeviceRankOptions {
  int rank = 0;
  std::uint64_t seed = 1;
  Recording recording = Recording::none;      // values: fill a StepRecord, for proofs
  const EmulatedCompute* emulated = nullptr;  // kernels only take these times; null: they compute
  RankProgress* progress = nullptr;           // where to say what it is doing; null: nowhere
  /// Told the first failure of a step when it happens, on the thread where it does: the rank then
  /// waits for its streams, and these may be waiting for peers that wait for this rank. Empty: not
  /// told.
  std::function<void(const std::string&)> on_failure;
};

/// Bytes and transfers of one step by (communicator, op kind, collective), counted where the host
/// announces them.
using StepTraffic = std::map<TrafficKey, Traffic>;

struct RankStep {
  double loss = 0.0;  // on stages that compute it, else 0
  bool has_loss = false;
  DevicePeak memory;
  StepTraffic traffic;
  StepRecord record;  // Recording::values
  Picoseconds end = 0;
  /// In issue order; lane 0. Valid until the rank's next step.
  std::span<const TraceRecord> records;
};

template <class T>
class DeviceRank {
 public:
  /// `events` of the device: at least `registers()`. Both seams outlive the rank.
  DeviceRank(const Program& program, const DeviceRankOptions& options, Device& device,
             Communicator& communicator);
  ~DeviceRank();

  /// Event registers the program needs on any device.
  static int registers(const Program& program, int rank);

  /// The prologue: takes static memory and fills weights. Of all memory that steps need, only what
  /// the program allocates is taken later.
  void start();
  /// Times count from the clock's zero.
  RankStep run_step(int step, const StepClock& clock);

 private:
  void take(SlotId id, std::int32_t micro_batch);
  void issue_step(int step);
  void issue_call(std::uint32_t index, const Call& call, int step);
  void issue(OpTask& task);
  void issue_compute(OpTask& task);
  void issue_transfer(OpTask& task);
  /// Its operands are left to the caller.
  TransferPart part_of(const Op& op) const;
  void flush_group();
  void resolve_operands(OpTask& task);
  OpTask& new_task(const Op& op, const Call& call, std::uint32_t index);

  // On the streams' threads.
  void run_compute(OpTask& task);
  void compute(OpTask& task);
  void rest(OpTask& task);
  void run_transfers(OpTask& first);
  template <class Body>
  void guarded(OpTask& task, Body body);
  void keep_failure(const std::string& what);

  int register_of(const Op& op, const Call& call) const;
  int peer_of(const Op& op) const;
  std::size_t count_tasks() const;
  std::string where(const OpTask& task) const;

  const Program& program_;
  DeviceRankOptions options_;
  Coordinates at_;
  const Role* role_;
  Device& device_;
  Communicator& communicator_;
  RankBlocks blocks_;
  RankParams params_;
  EventRegisters registers_;
  std::vector<OpTask> tasks_;  // of the step; its size is fixed before it begins
  std::size_t used_tasks_ = 0, used_records_ = 0;
  std::vector<TraceRecord> records_;
  std::vector<std::uint32_t> group_;  // tasks of the group of transfers being gathered
  std::set<SlotId> used_weights_;
  RankStep step_;  // under way; tasks refer to it and to its clock
  StepClock clock_;
  int step_number_ = 0;
  std::uint32_t group_event_ = 0;
  std::optional<SlotId> loss_slot_;
  RankProgress own_progress_;
  RankProgress& progress_;
  std::mutex record_mutex_;  // a device and its host update at the same time
  std::mutex failure_mutex_;
  std::atomic<bool> failed_{false};
  std::string failure_;
};

}  // namespace windtunnel
