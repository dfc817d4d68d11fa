#pragma once
// The sweep of one role: its calls in host order, every op applied to all lanes.
//
// The sweep stops at an op that needs the time of something a peer has not posted yet, and goes on
// from that op later; nothing of the op has happened by then. Which role runs when changes no time.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/compute_stream.h"
#include "sim/engine/host_clock.h"
#include "sim/engine/instruction.h"
#include "sim/engine/lane_costs.h"
#include "sim/engine/overlap.h"
#include "sim/engine/rendezvous.h"
#include "sim/engine/stretch_costs.h"
#include "sim/engine/trace_recorder.h"

namespace windtunnel {

class RoleSweep {
 public:
  struct Step {
    const Program& program;
    const CompiledProgram& compiled;
    const StepCosts& costs;
    const LaneGrid& grid;
    const SlowLinks& slow_links;
    CompletionPool& pool;
    Rendezvous& rendezvous;
    TraceRecorder* recorder = nullptr;  // of this role; nullptr: no trace
    TransferLog* transfers = nullptr;   // of this role; nullptr: T2 is off
  };
  RoleSweep(const Step& step, int role);

  /// Goes on as far as it can; nullptr when the role is done, else the completion whose missing
  /// parties it waits for.
  Completion* advance();

  /// Precondition: done. When the lane's rank is done, its host included.
  const Picoseconds* end() const { return compute_.tail(); }
  /// Idles until the step's end on every lane and closes the account.
  std::vector<Picoseconds> close(const Picoseconds* step_end);

  /// "role 1, call 12 (forward, chunk 0, micro-batch 3), recv": where it stands.
  std::string position() const;
  std::int64_t executed() const { return executed_; }

 private:
  /// Executes one instruction (or a group of posts); nullptr, or what it waits for.
  Completion* execute(const Instruction& i);
  Completion* run_stretch(const Instruction& first);
  Completion* run_side_compute(const Instruction& i);
  Completion* run_side_join(const Instruction& i);
  Completion* run_meet(const Instruction& i);
  Completion* run_posts(const Instruction& first);
  void post_alone(const Instruction& i);
  void begin_group();
  void join_group(Stream stream);
  void post(const Instruction& i);
  Completion* run_host_sync(const Instruction& i);
  Completion* drain();
  void run_compute(const Instruction& i);  // in a stretch: settled, and the queue has room
  void run_join(const Instruction& i);     // the same
  void run_record(const Instruction& i);
  void run_wait(const Instruction& i);
  void run_follow(const Instruction& i);
  void run_host_work(const Instruction& i);
  void run_load(const Instruction& i);

  /// Raises `ready_` to the ends of a side stream's tail; nullptr, or what keeps it unknown.
  Completion* raise_to_tail(Stream stream);
  /// When the communicator's latest collective on any stream ends.
  Picoseconds* comm_tail(const Instruction& i);
  void put_on_side(const Instruction& i, const Picoseconds* start, const Picoseconds* durations);
  /// T2: where the op's sharing of links is kept; nullptr: it shares none.
  TransferEntry* next_transfer(const Instruction& i) {
    return step_.transfers == nullptr ? nullptr : step_.transfers->next(i.op);
  }
  LaneCount lane_count() const { return {.lanes = lanes_, .draws = step_.grid.draws}; }
  /// A collective of the compute stream that takes other times than its price.
  void communicate_each(const Instruction& i, TransferEntry* entry);
  /// Moves `end` by noise and by what others take of the op's links (`entry`, if any).
  void finish_transfer(const Instruction& i, TransferEntry* entry, const Picoseconds* start,
                       Picoseconds* end);
  /// What a transfer that meets other roles needs for its noise; null where it has none.
  NoiseSource noise_of(const Instruction& i) {
    if (!costs_.varies(i.op)) return {};
    return {.costs = &costs_, .call = static_cast<std::uint32_t>(call_), .op = i.op};
  }
  void find_shared_stretches();
  /// T1: the collective's time per lane, ready at `ready_`.
  const Picoseconds* beside_compute(const Instruction& i, const Picoseconds* durations);
  /// T1: whether compute is issued before anything waits for the collective.
  bool compute_comes_first(const Instruction& i);
  /// Start of the next op of the compute stream, kept for `trace`.
  void trace_start(const Picoseconds* host);
  void trace(const Instruction& i, const Picoseconds* end);

  using Completions = std::vector<CompletionRef>;
  Completions& tail_of(Stream stream) { return side_tails_[static_cast<std::size_t>(stream)]; }
  const Call& call() const { return role_.calls[call_]; }
  const std::vector<Instruction>& code() const { return code_.code[code_.code_of_call[call_]].ops; }

  /// What stood on the stream when the event was recorded, for the uses to come.
  struct Event {
    CompletionRef first;
    std::unique_ptr<Completions> rest;  // where there is more than one
    std::uint32_t uses = 0;
  };
  Event& event_of(const Instruction& i) { return events_[event_slot(call(), i)]; }
  static void keep_rest(Event& event, std::span<const CompletionRef> rest);
  static void use(Event& event);
  /// Everything issued to the stream from now on waits for `completion`.
  void hold_back(Stream stream, CompletionRef completion);

  Step step_;
  int index_;
  int lanes_;
  const Role& role_;
  const RoleCode& code_;
  LaneCosts costs_;
  std::unique_ptr<StretchCosts> stretch_costs_;  // where stretches can be taken as one
  std::vector<bool> stretch_shares_;             // [stretch]: some op's links are shared (T2)
  Overlap overlap_;
  HostClock host_;
  ComputeStream compute_;
  std::vector<Completions> side_tails_;               // [stream]; compute's is in compute_
  std::vector<std::vector<Picoseconds>> comm_tails_;  // [comm], where several streams use it
  std::vector<Event> events_;
  std::vector<Picoseconds> nothing_;  // 0 on every lane
  std::vector<Picoseconds> ready_, scratch_;
  // The latest group of transfers: what it waits for, its members, its streams.
  Completions group_waits_, group_;
  std::uint32_t group_streams_ = 0;
  std::vector<std::uint32_t> marks_;
  std::size_t call_ = 0;
  std::size_t pc_ = 0;
  std::size_t record_ = 0;  // number of the next record
  std::int64_t executed_ = 0;
};

}  // namespace windtunnel
