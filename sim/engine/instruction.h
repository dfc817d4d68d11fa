#pragma once
// A program made ready for the sweep: ops decoded once, whatever the number of calls and lanes.
//
// Memory ops are gone, conditions (`when`) are resolved per kind of call, grouped sends and
// receives stand together, and every op knows the row of the time table it is charged to.

#include <cstdint>
#include <vector>

#include "program/program.h"
#include "sim/engine/step_costs.h"
#include "sim/engine/step_timing.h"

namespace windtunnel {

enum class Action : std::uint8_t {
  compute,       // on the compute stream
  side_compute,  // on another stream
  join,          // collective within the role, on the compute stream
  side_join,     // collective within the role, on another stream
  meet,          // collective of several roles, on any stream
  post,          // send or recv
  record,
  wait,
  follow,  // record on `followed` and wait on `stream` in one
  host_work,
  load,  // host work on another stream: a loader's thread
  host_sync
};

struct Instruction {
  Action action = Action::compute;
  Stream stream = Stream::compute;
  Stream followed = Stream::compute;
  std::uint8_t launches = 0;
  KernelClass cls = KernelClass::none;
  TransferKind transfer = TransferKind::count;
  bool frame_event : 1 = false;  // the event has an instance per (chunk, micro-batch)
  bool more : 1 = false;         // post: the next instruction belongs to the same group
  bool joins : 1 = false;        // post: belongs to the group of the post before it
  bool sends : 1 = false;        // post: a send (else a recv)
  bool keeps_order : 1 = false;  // collective: events alone do not order its communicator
  bool data : 1 = false;         // host_work: loads input
  std::uint8_t window_bits = 0;  // frame event: log2 of the slots its micro-batches share
  std::uint16_t category = 0;    // row charged while it runs
  std::uint16_t comm = 0;
  std::uint32_t op = 0;     // index into Program::ops
  std::uint32_t place = 0;  // event: slot, or the first of its slots; post: channel
  std::uint32_t uses = 0;   // record: of each execution; see kCountedUses
  // Of the first op of a stretch: ops of the compute stream with nothing in between, which the
  // sweep takes as a whole. Every `compute` and `join` belongs to one.
  std::uint32_t stretch = 0;  // number, counted over the role
  std::uint16_t stretch_ops = 0;
  std::uint16_t stretch_launches = 0;
};
static_assert(sizeof(Instruction) <= 32, "two to a cache line");

/// Uses of a record that differ from execution to execution: RoleCode::uses_of_record has them.
constexpr std::uint32_t kCountedUses = kNone;

/// The timed ops of a segment in one kind of call of one chunk.
struct Code {
  int chunk = -1;
  std::vector<Instruction> ops;
  std::vector<std::uint32_t> frame_ops;  // indices of records and waits whose uses are counted
};

/// Rows of the time table that always exist; one per communicator follows, then compute.
enum FixedCategory : std::uint16_t { kBubble, kStraggler, kHost, kInput, kFixedCategories };

struct Channel {
  int source = 0, destination = 0;  // roles
  std::uint32_t comm = 0;
};

struct RoleCode {
  std::vector<Code> code;                   // one per segment, chunk and kind of call
  std::vector<std::uint32_t> code_of_call;  // index into `code`
  std::uint32_t stretches = 0;
  bool groups_go_on = false;  // some group of transfers goes on over calls
  std::uint32_t event_slots = 0;
  /// Of each record with kCountedUses, in host order: how many waits and host_syncs bind to it.
  std::vector<std::uint32_t> uses_of_record;
};

struct CompiledProgram {
  std::vector<RoleCode> roles;
  std::vector<Channel> channels;
  std::vector<TimeCategory> categories;
  /// Roles that meet in a communicator's collectives; 1: each role on its own.
  std::vector<int> roles_of_comm;
};

struct CompileOptions {
  int step = 1;              // number of the training step from 0 (ops that run only in the first)
  int stretch_launches = 0;  // at most in a stretch of more than one op; 0: no bound
};
CompiledProgram compile(const Program& program, const CompileOptions& options);

/// Where the role keeps the instruction's event in this call.
inline std::uint32_t event_slot(const Call& call, const Instruction& i) {
  const std::uint32_t mask = (std::uint32_t{1} << i.window_bits) - 1;
  return i.place + (static_cast<std::uint32_t>(call.micro_batch) & mask);
}

}  // namespace windtunnel
