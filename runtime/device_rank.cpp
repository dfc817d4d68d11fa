#include "runtime/device_rank.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/check.h"
#include "runtime/kernel_rows.h"
#include "runtime/op_recorder.h"
#include "runtime/op_text.h"
#include "runtime/role_facts.h"
#include "runtime/start_values.h"

namespace windtunnel {

namespace {

template <class T>
constexpr Storage kStorage = std::is_same_v<T, float> ? Storage::as_program : Storage::eight_bytes;

template <class T>
constexpr WireType kWire = std::is_same_v<T, float>    ? WireType::fp32
                           : std::is_same_v<T, double> ? WireType::fp64
                                                       : WireType::field;

int stream_of(const Op& op) {
  return static_cast<int>(op.stream);
}

}  // namespace

template <class T>
DeviceRank<T>::DeviceRank(const Program& program, const DeviceRankOptions& options, Device& device,
                          Communicator& communicator)
    : program_(program),
      options_(options),
      at_(coordinates_of(dense_grid(program.mesh), options.rank)),
      role_(&role_at(program, at_)),
      device_(device),
      communicator_(communicator),
      blocks_(program, *role_, at_, kStorage<T>),
      params_(program, *role_, at_),
      registers_(registers_of(program, *role_)),
      loss_slot_(loss_slot_of(program, *role_)),
      progress_(options.progress != nullptr ? *options.progress : own_progress_) {
  group_event_ = registers_.count;
  tasks_.resize(count_tasks());
  records_.resize(tasks_.size());
}

template <class T>
DeviceRank<T>::~DeviceRank() {
  device_.synchronize();  // tasks refer to this rank
}

template <class T>
int DeviceRank<T>::registers(const Program& program, int rank) {
  const Coordinates at = coordinates_of(dense_grid(program.mesh), rank);
  // One more per stream, for groups of transfers that span streams.
  return static_cast<int>(registers_of(program, role_at(program, at)).count) +
         static_cast<int>(Stream::count);
}

template <class T>
std::size_t DeviceRank<T>::count_tasks() const {
  std::size_t most = 0;
  for (const int step : {0, 1}) {
    std::size_t tasks = 0;
    for (const Call& call : role_->calls) {
      for (const Op& op : program_.ops_of(call)) tasks += runs(op, call, step) ? 1 : 0;
    }
    most = std::max(most, tasks);
  }
  return most;
}

template <class T>
void DeviceRank<T>::start() {
  for (const Call& call : role_->prologue) {
    for (const Op& op : program_.ops_of(call)) {
      CHECK(op.kind == OpKind::alloc, "the prologue takes static memory and nothing else");
      take(program_.operands(op)[0], -1);
    }
  }
  for (const Call& call : role_->calls) {
    for (const Op& op : program_.ops_of(call)) {
      if (is_transfer(op)) communicator_.reserve(static_cast<int>(op.comm), part_of(op));
    }
  }
  device_.synchronize();
  for_each_update(program_, *role_, [&](const Op& op, const Call& call) {
    const MemoryRange to = blocks_.resolve(program_.operands(op)[op.inputs], call.micro_batch);
    const MemoryRange from = blocks_.resolve(program_.operands(op).back(), call.micro_batch);
    if (to.root == from.root) return;
    const T* values = static_cast<const T*>(blocks_.block(from).data);
    std::copy(values, values + from.elements(), static_cast<T*>(blocks_.block(to).data));
  });
}

/// Static memory gets the content training starts from, whenever it is taken: some stacks make
/// their optimizer's states in the first step. The stream does it, for the block may still be in
/// use.
template <class T>
void DeviceRank<T>::take(SlotId id, std::int32_t micro_batch) {
  const MemoryRange range = blocks_.resolve(id, micro_batch);
  blocks_.take(range, device_);
  const Slot& slot = role_->slots[id];
  if (slot.space != Space::statics || !has_start_values(slot.category)) return;
  T* data = static_cast<T*>(blocks_.block(range).data);
  device_.enqueue(static_cast<int>(slot.pool), [this, &slot, id, data] {
    fill_at_start({.program = program_, .seed = options_.seed, .perturbation = {}}, params_, slot,
                  id, data);
  });
}

template <class T>
void DeviceRank<T>::issue_step(int step) {
  try {
    for (std::uint32_t i = 0; i < role_->calls.size() && !failed_; ++i) {
      issue_call(i, role_->calls[i], step);
    }
    flush_group();
  } catch (const std::exception& error) {
    keep_failure(error.what());
    throw;
  }
}

template <class T>
RankStep DeviceRank<T>::run_step(int step, const StepClock& clock) {
  step_ = {};
  clock_ = clock;
  step_number_ = step;
  used_tasks_ = used_records_ = 0;
  used_weights_.clear();
  progress_.step = step;
  blocks_.take_peak();
  issue_step(step);
  device_.synchronize();
  step_.end = clock_.now();
  if (failed_) throw ExecutionError(failure_);
  step_.memory = blocks_.take_peak();
  if (loss_slot_) {
    const MemoryRange range = blocks_.resolve(*loss_slot_, -1);
    step_.has_loss = true;
    step_.loss = reference::Number<T>::to_double(*static_cast<const T*>(blocks_.block(range).data));
  }
  step_.records = std::span(records_).first(used_records_);
  return std::move(step_);
}

template <class T>
void DeviceRank<T>::issue_call(std::uint32_t index, const Call& call, int step) {
  for (const Op& op : program_.ops_of(call)) {
    if (runs(op, call, step)) issue(new_task(op, call, index));
  }
}

template <class T>
OpTask& DeviceRank<T>::new_task(const Op& op, const Call& call, std::uint32_t index) {
  OpTask& task = tasks_[used_tasks_];
  ++used_tasks_;
  task.op = &op;
  task.call = &call;
  task.call_index = index;
  task.group_end = 0;
  task.record = nullptr;
  if (op.kind == OpKind::compute || is_transfer(op)) {
    task.record = &records_[used_records_++];
    *task.record = {.role = static_cast<std::int16_t>(role_ - program_.roles.data()),
                    .stream = op.stream,
                    .lane = 0,
                    .call = index,
                    .op = static_cast<std::uint32_t>(&op - program_.ops.data()),
                    .issue = clock_.now()};
  }
  ++progress_.issued;
  return task;
}

template <class T>
void DeviceRank<T>::issue(OpTask& task) {
  const Op& op = *task.op;
  if (is_message(op.kind)) return issue_transfer(task);
  // Memory is the host's: taking it does not part a group that goes on in the next call.
  if (op.kind != OpKind::alloc && op.kind != OpKind::free) flush_group();
  switch (op.kind) {
    case OpKind::compute:
      issue_compute(task);
      break;
    case OpKind::collective:
      issue_transfer(task);
      break;
    case OpKind::alloc:
      take(program_.operands(op)[0], task.call->micro_batch);
      break;
    case OpKind::free:
      blocks_.give_back(blocks_.resolve(program_.operands(op)[0], task.call->micro_batch), device_);
      break;
    case OpKind::record:
      device_.record(register_of(op, *task.call), stream_of(op));
      break;
    case OpKind::wait:
      device_.wait(register_of(op, *task.call), stream_of(op));
      break;
    case OpKind::host_sync:
      device_.synchronize(register_of(op, *task.call));
      break;
    default:
      break;  // host_work: the time of another stack's host; this one has its own
  }
}

template <class T>
void DeviceRank<T>::resolve_operands(OpTask& task) {
  const auto slots = program_.operands(*task.op);
  CHECK(slots.size() <= kMostOperands, "an op has no more operands than a task has room for");
  for (std::size_t i = 0; i < slots.size(); ++i) {
    task.ranges[i] = blocks_.resolve(slots[i], task.call->micro_batch);
    task.operands[i] = blocks_.block(task.ranges[i]);
  }
}

template <class T>
void DeviceRank<T>::issue_compute(OpTask& task) {
  resolve_operands(task);
  task.norm_ranges.clear();
  if (program_.shapes[task.op->shape].kernel == Kernel::sum_squares) {
    task.norm_ranges = params_.counted(program_.operands(*task.op).front());
  }
  device_.enqueue(stream_of(*task.op), [this, at = &task] { run_compute(*at); });
}

template <class T>
TransferPart DeviceRank<T>::part_of(const Op& op) const {
  return {.kind = transfer_kind(op),
          .reduction = static_cast<Reduction>(op.reduce),
          .type = kWire<T>,
          .elements = op.elements,
          .peer = is_message(op.kind) ? peer_of(op) : -1,
          .distance = op.distance};
}

template <class T>
void DeviceRank<T>::issue_transfer(OpTask& task) {
  const Op& op = *task.op;
  if (!op.grouped) flush_group();
  resolve_operands(task);
  TransferPart part = part_of(op);
  part.in = task.operands[0].data;
  part.out = task.operands[op.refs - 1U].data;
  task.ticket = communicator_.announce(static_cast<int>(op.comm), part);
  Traffic& traffic = step_.traffic[{op.comm, op.kind, op.collective}];
  ++traffic.count;
  traffic.bytes += op.elements * bytes_of(kWire<T>);
  group_.push_back(static_cast<std::uint32_t>(&task - tasks_.data()));
  if (op.kind == OpKind::collective) flush_group();
}

/// Transfers of a group are posted together, behind the tails of all their streams; each of these
/// goes on when the last has ended.
template <class T>
void DeviceRank<T>::flush_group() {
  if (group_.empty()) return;
  OpTask& first = tasks_[group_.front()];
  first.group_end = group_.back() + 1;
  const int main_stream = stream_of(*first.op);
  std::set<int> others;
  for (const std::uint32_t t : group_) others.insert(stream_of(*tasks_[t].op));
  others.erase(main_stream);
  // An event of each stream's own: records of one event are reached in the order they were made.
  const auto event_of = [this](int stream) { return static_cast<int>(group_event_) + stream; };
  for (const int stream : others) {
    device_.record(event_of(stream), stream);
    device_.wait(event_of(stream), main_stream);
  }
  device_.enqueue(main_stream, [this, at = &first] { run_transfers(*at); });
  if (!others.empty()) device_.record(event_of(main_stream), main_stream);
  for (const int stream : others) device_.wait(event_of(main_stream), stream);
  group_.clear();
}

template <class T>
template <class Body>
void DeviceRank<T>::guarded(OpTask& task, Body body) {
  if (failed_) return;
  progress_.call = task.call_index;
  progress_.op = task.record->op;
  try {
    body();
  } catch (const std::exception& error) {
    keep_failure(where(task) + ": " + error.what());
  }
  ++progress_.finished;
}

template <class T>
void DeviceRank<T>::run_compute(OpTask& task) {
  guarded(task, [&] { options_.emulated == nullptr ? compute(task) : rest(task); });
}

template <class T>
void DeviceRank<T>::rest(OpTask& task) {
  const auto run = static_cast<std::size_t>(&task - tasks_.data());
  const double seconds =
      options_.emulated->length(task.op->shape, options_.rank, step_number_, run);
  const auto begin = StepClock::Clock::now();
  task.record->start = clock_.at(begin);
  rest_until(begin + std::chrono::duration_cast<StepClock::Clock::duration>(
                         std::chrono::duration<double>(seconds)));
  task.record->end = clock_.now();
}

template <class T>
void DeviceRank<T>::compute(OpTask& task) {
  const Op& op = *task.op;
  std::vector<NamedOperand<T>> operands;
  OpRecorder<T> recorder(
      program_,
      {.id = options_.rank, .at = at_, .role = *role_, .params = params_, .used = used_weights_},
      op, task.call->micro_batch);
  const bool records = options_.recording == Recording::values;
  if (records) {
    for (std::size_t i = 0; i < op.refs; ++i) {
      operands.push_back(
          {.range = task.ranges[i], .data = static_cast<const T*>(task.operands[i].data)});
    }
    const std::lock_guard lock(record_mutex_);
    recorder.before(operands, step_.record);
  }
  task.record->start = clock_.now();
  run_kernel(DeviceCall<T>{{.program = program_,
                            .op = op,
                            .shape = program_.shapes[op.shape],
                            .call = *task.call,
                            .at = at_,
                            .step = step_number_,
                            .seed = options_.seed,
                            .norm_ranges = task.norm_ranges},
                           task.operands});
  task.record->end = clock_.now();
  if (!records) return;
  const std::lock_guard lock(record_mutex_);
  recorder.after(operands, step_.record);
}

template <class T>
void DeviceRank<T>::run_transfers(OpTask& first) {
  guarded(first, [&] {
    const std::size_t begin = static_cast<std::size_t>(&first - tasks_.data());
    const std::size_t end = first.group_end;
    const Picoseconds start = clock_.now();
    for (std::size_t t = begin; t < end; ++t) {
      if (is_transfer(*tasks_[t].op)) communicator_.arrive(tasks_[t].ticket);
    }
    for (std::size_t t = begin; t < end; ++t) {
      if (is_transfer(*tasks_[t].op)) communicator_.finish(tasks_[t].ticket);
    }
    const Picoseconds stop = clock_.now();
    for (std::size_t t = begin; t < end; ++t) {
      if (!is_transfer(*tasks_[t].op)) continue;
      tasks_[t].record->start = start;
      tasks_[t].record->end = stop;
    }
  });
}

template <class T>
void DeviceRank<T>::keep_failure(const std::string& what) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (failed_) return;
    failure_ = what;
    failed_ = true;
  }
  if (options_.on_failure) options_.on_failure(what);
}

template <class T>
int DeviceRank<T>::register_of(const Op& op, const Call& call) const {
  return static_cast<int>(registers_.places[op.event].of(call));
}

template <class T>
int DeviceRank<T>::peer_of(const Op& op) const {
  Coordinates peer = at_;
  peer.pp = program_.roles[static_cast<std::size_t>(op.peer)].pipeline_rank;
  return rank_of(dense_grid(program_.mesh), peer);
}

template <class T>
std::string DeviceRank<T>::where(const OpTask& task) const {
  return fmt::format("rank {} (tp {}, dp {}, pp {}), step {}, call {} {}, {}", options_.rank,
                     at_.tp, at_.dp, at_.pp, step_number_, task.call_index,
                     text_of(program_, *task.call), text_of(program_, *task.op));
}

template class DeviceRank<float>;
template class DeviceRank<double>;
template class DeviceRank<reference::Field>;

}  // namespace windtunnel
