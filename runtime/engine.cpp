#include "runtime/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/op_recorder.h"
#include "runtime/op_text.h"
#include "runtime/start_values.h"

namespace windtunnel {

template <class T>
Engine<T>::Engine(const Program& program, const ExecutionOptions& options)
    : program_(program), options_(options), grid_(dense_grid(program.mesh)) {
  for (int id = 0; id < grid_.ranks(); ++id) {
    const Coordinates at = coordinates_of(grid_, id);
    const Role* role = nullptr;
    for (const Role& r : program.roles) {
      if (r.pipeline_rank == at.pp) role = &r;
    }
    if (role == nullptr) throw ExecutionError(fmt::format("pipeline rank {} has no role", at.pp));
    ranks_.emplace_back(program, *role, RankPlace{id, at, options.allocation_granularity});
  }
  record_.steps.resize(static_cast<std::size_t>(options.steps));
}

template <class T>
ExecutionRecord Engine<T>::run() {
  bool progress = true;
  while (progress) {
    progress = false;
    for (Rank& rank : ranks_) progress |= advance(rank);
  }
  for (const Rank& rank : ranks_) {
    if (!rank.done) report_stuck();
  }
  for (Rank& rank : ranks_) record_.ranks.push_back(rank.memory.counters());
  return std::move(record_);
}

template <class T>
bool Engine<T>::advance(Rank& rank) {
  bool progress = false;
  try {
    while (!rank.done) {
      if (rank.position.call < rank.calls().size()) {
        const Call& call = rank.calls()[rank.position.call];
        const auto ops = program_.ops_of(call);
        if (rank.position.op < ops.size()) {
          const Op& op = ops[rank.position.op];
          const int step = std::max(rank.position.step, 0);
          if (runs(op, call, step)) {
            if (!goes_on_with(op) && !arrived(rank)) return progress;
            if (!try_op(rank, op, call)) return progress;
            check_order(rank, op, call);
          }
          ++rank.position.op;
          progress = true;
          continue;
        }
      }
      if (!end_call(rank)) return progress;
      progress = true;
    }
  } catch (const ExecutionError& error) {
    throw ExecutionError(where(rank) + ": " + error.what());
  }
  return progress;
}

/// Whether the op begins before the transfers on the compute stream have ended: it is one of their
/// group, or the host's alone.
template <class T>
bool Engine<T>::goes_on_with(const Op& op) {
  const bool message = is_message(op.kind);
  return (message && op.grouped) || op.kind == OpKind::alloc || op.kind == OpKind::free;
}

template <class T>
bool Engine<T>::arrived(Rank& rank) {
  const bool all = std::all_of(rank.awaited.begin(), rank.awaited.end(),
                               [&](const Ticket& ticket) { return board_.ready(ticket); });
  if (all) rank.awaited.clear();
  return all;
}

template <class T>
bool Engine<T>::end_call(Rank& rank) {
  Position& p = rank.position;
  const std::string scratch = rank.memory.leaked(Space::scratch);
  if (!scratch.empty()) {
    throw ExecutionError(scratch + " is scratch and still allocated when its call ends");
  }
  if (p.call + 1 < rank.calls().size()) {
    ++p.call;
    p.op = 0;
    return true;
  }
  for (auto& [key, unused] : rank.memory.instances()) {
    const auto root = static_cast<SlotId>(key >> 32);
    const MemoryRange all{.root = root,
                          .micro_batch = static_cast<std::int32_t>(key & 0xffffffffU),
                          .begin = 0,
                          .end = rank.memory.slot(root).elements};
    if (!settle(rank, all, root)) return false;
  }
  const std::string frame = rank.memory.leaked(Space::frame);
  if (!frame.empty()) throw ExecutionError(frame + " is still allocated when the step ends");
  if (p.step < 0) start_masters(program_, rank);
  rank.used.clear();
  p = {.step = p.step + 1, .call = 0, .op = 0};
  rank.done = p.step >= options_.steps;
  return true;
}

template <class T>
bool Engine<T>::try_op(Rank& rank, const Op& op, const Call& call) {
  switch (op.kind) {
    case OpKind::compute:
      return try_compute(rank, op, call);
    case OpKind::collective:
      return try_collective(rank, op, call);
    case OpKind::send:
      return try_send(rank, op, call);
    case OpKind::recv:
      return try_recv(rank, op, call);
    case OpKind::alloc:
      return try_alloc(rank, op, call);
    case OpKind::free:
      return try_free(rank, op, call);
    case OpKind::record:
    case OpKind::wait:
    case OpKind::host_work:
    case OpKind::host_sync:
      return true;
  }
  return true;
}

template <class T>
bool Engine<T>::try_alloc(Rank& rank, const Op& op, const Call& call) {
  const SlotId slot = program_.operands(op)[0];
  const MemoryRange range = rank.memory.resolve(slot, call.micro_batch);
  rank.memory.take(range, slot);
  const Slot& s = rank.memory.slot(slot);
  if (s.space == Space::statics && has_start_values(s.category)) {
    fill_at_start(
        {.program = program_, .seed = options_.seed, .perturbation = options_.perturbation},
        rank.params, s, slot, rank.memory.data(range, slot));
  }
  return true;
}

template <class T>
bool Engine<T>::try_free(Rank& rank, const Op& op, const Call& call) {
  const SlotId slot = program_.operands(op)[0];
  const MemoryRange range = rank.memory.resolve(slot, call.micro_batch);
  if (!settle(rank, range, slot)) return false;
  rank.memory.give_back(range, slot);
  return true;
}

template <class T>
bool Engine<T>::try_compute(Rank& rank, const Op& op, const Call& call) {
  for (const SlotId slot : program_.operands(op)) {
    if (!settle(rank, rank.memory.resolve(slot, call.micro_batch), slot)) return false;
  }
  compute(rank, op, call);
  return true;
}

template <class T>
bool Engine<T>::try_collective(Rank& rank, const Op& op, const Call& call) {
  const SlotId in = program_.operands(op).front(), out = program_.operands(op).back();
  const MemoryRange from = rank.memory.resolve(in, call.micro_batch);
  const MemoryRange to = rank.memory.resolve(out, call.micro_batch);
  if (!settle(rank, from, in) || !settle(rank, to, out)) return false;
  Contribution<T> part{.comm = op.comm,
                       .group = members(program_.mesh, program_.comms[op.comm], rank.id),
                       .member = 0,
                       .shape = {.collective = op.collective,
                                 .reduce = op.reduce,
                                 .elements = op.elements,
                                 .dtype = op.dtype,
                                 .distance = op.distance},
                       .data = {}};
  if (part.group.empty()) throw ExecutionError("the rank is not a member of the communicator");
  part.member = static_cast<int>(std::find(part.group.begin(), part.group.end(), rank.id) -
                                 part.group.begin());
  const std::int64_t wanted =
      windtunnel::sizes_of(part.shape, static_cast<std::int64_t>(part.group.size())).out;
  if (to.elements() != wanted) {
    throw ExecutionError(fmt::format("{} gives {} elements to each member, {} has {}",
                                     text_of(part.shape), wanted, rank.memory.name(out),
                                     to.elements()));
  }
  const T* data = rank.memory.written(from, in);
  part.data.assign(data, data + from.elements());
  expect_into(rank, op, to, board_.post(std::move(part)));
  return true;
}

template <class T>
bool Engine<T>::try_send(Rank& rank, const Op& op, const Call& call) {
  const SlotId slot = program_.operands(op)[0];
  const MemoryRange range = rank.memory.resolve(slot, call.micro_batch);
  if (!settle(rank, range, slot)) return false;
  const T* data = rank.memory.written(range, slot);
  if (range.elements() != op.elements) throw ExecutionError("sends another size than its slot's");
  board_.send(op.comm, {rank.id, peer_rank(rank, op)}, label(rank, op, call),
              std::vector<T>(data, data + range.elements()));
  Traffic& traffic = rank.memory.counters().traffic[{op.comm, op.kind, op.collective}];
  ++traffic.count;
  traffic.bytes += bytes_of(op.dtype, op.elements);
  return true;
}

template <class T>
bool Engine<T>::try_recv(Rank& rank, const Op& op, const Call& call) {
  const SlotId slot = program_.operands(op)[0];
  const MemoryRange range = rank.memory.resolve(slot, call.micro_batch);
  if (!settle(rank, range, slot)) return false;
  if (range.elements() != op.elements) {
    throw ExecutionError("receives another size than its slot's");
  }
  expect_into(rank, op, range,
              board_.expect(op.comm, {peer_rank(rank, op), rank.id}, label(rank, op, call)));
  return true;
}

template <class T>
bool Engine<T>::settle(Rank& rank, const MemoryRange& range, SlotId named) {
  Instance<T>& instance = rank.memory.instance(range, named);
  for (std::size_t i = 0; i < instance.pending.size();) {
    const Pending pending = instance.pending[i];
    if (!range.overlaps(pending.begin, pending.end)) {
      ++i;
      continue;
    }
    if (!board_.ready(pending.ticket)) return false;
    const std::vector<T> data = board_.take(pending.ticket);
    std::erase(rank.awaited, pending.ticket);
    const MemoryRange whole{
        .root = range.root, .micro_batch = range.micro_batch, .begin = 0, .end = 0};
    std::copy(data.begin(), data.end(), rank.memory.data(whole, range.root) + pending.begin);
    instance.pending.erase(instance.pending.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return true;
}

template <class T>
void Engine<T>::expect_into(Rank& rank, const Op& op, const MemoryRange& range,
                            const Ticket& ticket) {
  rank.memory.instance(range, range.root)
      .pending.push_back({.ticket = ticket, .begin = range.begin, .end = range.end});
  if (op.stream == Stream::compute) rank.awaited.push_back(ticket);
  Traffic& traffic = rank.memory.counters().traffic[{op.comm, op.kind, op.collective}];
  ++traffic.count;
  traffic.bytes += bytes_of(op.dtype, op.elements);
}

template <class T>
void Engine<T>::check_order(Rank& rank, const Op& op, const Call& call) {
  const auto event = [&]() -> StreamOrder::EventKey {
    const bool framed = rank.role->events[op.event].per_frame;
    return {op.event, framed ? call.chunk : -1, framed ? call.micro_batch : -1};
  };
  const auto fail_at = [&](SlotId slot, const std::string& stream) {
    if (stream.empty()) return;
    throw ExecutionError("race on " + rank.memory.name(slot) +
                         ": no wait orders this after stream " + stream + "'s work on it");
  };
  const auto operands = program_.operands(op);
  switch (op.kind) {
    case OpKind::record:
      return rank.order.record(event(), op.stream);
    case OpKind::wait:
      return rank.order.wait(event(), op.stream);
    case OpKind::host_sync:
      return rank.order.host_sync(event());
    case OpKind::free: {
      const MemoryRange r = rank.memory.resolve(operands[0], call.micro_batch);
      const Stream pool = rank.memory.slot(r.root).pool;
      return fail_at(operands[0], rank.order.give_back({r.root, r.micro_batch}, pool));
    }
    case OpKind::alloc:
    case OpKind::host_work:
      return;
    default:
      break;
  }
  rank.order.issue(op.stream);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const MemoryRange r = rank.memory.resolve(operands[i], call.micro_batch);
    const Access access = i < op.inputs ? Access::read : Access::write;
    fail_at(operands[i],
            rank.order.access({{r.root, r.micro_batch}, r.begin, r.end}, op.stream, access));
  }
}

template <class T>
void Engine<T>::compute(Rank& rank, const Op& op, const Call& call) {
  const Shape& shape = program_.shapes[op.shape];
  const bool in_step = rank.position.step >= 0;
  OpRecorder<T> recorder(
      program_,
      {.id = rank.id, .at = rank.at, .role = *rank.role, .params = rank.params, .used = rank.used},
      op, call.micro_batch);
  std::vector<NamedOperand<T>> operands;
  for (const SlotId slot : program_.operands(op)) {
    const MemoryRange range = rank.memory.resolve(slot, call.micro_batch);
    operands.push_back({.range = range, .data = rank.memory.data(range, slot)});
  }
  if (in_step) recorder.before(operands, record(rank));
  const std::vector<ParamRange> ranges = shape.kernel == Kernel::sum_squares
                                             ? rank.params.counted(program_.operands(op).front())
                                             : std::vector<ParamRange>{};
  run_kernel(KernelCall<T>{{.program = program_,
                            .op = op,
                            .shape = shape,
                            .call = call,
                            .at = rank.at,
                            .step = std::max(rank.position.step, 0),
                            .seed = options_.seed,
                            .norm_ranges = ranges},
                           rank.memory});
  if (in_step) recorder.after(operands, record(rank));
}

template <class T>
MessageLabel Engine<T>::label(const Rank& rank, const Op& op, const Call& call) const {
  const std::int16_t slot_chunk = rank.memory.slot(program_.operands(op)[0]).chunk;
  const std::int16_t chunk = slot_chunk >= 0 ? slot_chunk : call.chunk;
  if (chunk < 0) throw ExecutionError("a message of no model chunk");
  const int global = rank.role->chunks[static_cast<std::size_t>(chunk)].global_chunk;
  const bool after = (op.phase == Phase::backward) == (op.kind == OpKind::recv);
  return {.phase = op.phase,
          .boundary = after ? global : global - 1,
          .micro_batch = call.micro_batch,
          .elements = op.elements,
          .dtype = op.dtype};
}

template <class T>
int Engine<T>::peer_rank(const Rank& rank, const Op& op) const {
  if (op.peer < 0 || static_cast<std::size_t>(op.peer) >= program_.roles.size()) {
    throw ExecutionError("a message without a peer");
  }
  Coordinates peer = rank.at;
  peer.pp = program_.roles[static_cast<std::size_t>(op.peer)].pipeline_rank;
  return rank_of(grid_, peer);
}

template <class T>
std::string Engine<T>::where(const Rank& rank) const {
  const Position& p = rank.position;
  std::string text =
      fmt::format("rank {} (tp {}, dp {}, pp {}), ", rank.id, rank.at.tp, rank.at.dp, rank.at.pp) +
      (p.step < 0 ? "prologue" : fmt::format("step {}", p.step));
  if (p.call >= rank.calls().size()) return text;
  const Call& call = rank.calls()[p.call];
  text += fmt::format(", call {} {}", p.call, text_of(program_, call));
  const auto ops = program_.ops_of(call);
  // An awaited transfer was issued by the op before.
  const std::size_t at = !rank.awaited.empty() && p.op > 0 ? p.op - 1 : p.op;
  return at < ops.size() ? text + fmt::format(", op {} {}", at, text_of(program_, ops[at]))
                         : text + ", its end";
}

template <class T>
void Engine<T>::report_stuck() const {
  std::string text = "no rank can go on:";
  for (const Rank& rank : ranks_) {
    text += "\n  " + (rank.done ? fmt::format("rank {} is done", rank.id) : where(rank));
  }
  throw ExecutionError(text);
}

template class Engine<double>;
template class Engine<reference::Field>;

}  // namespace windtunnel
