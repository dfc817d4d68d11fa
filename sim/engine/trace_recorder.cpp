#include "sim/engine/trace_recorder.h"

#include <unordered_map>

#include "core/check.h"

namespace windtunnel {

void TraceRecorder::record(std::uint32_t call, const Instruction& instruction, Stream stream,
                           const Times& times) {
  for (int lane = 0; lane < lanes_; ++lane) {
    records_.push_back({.role = static_cast<std::int16_t>(role_),
                        .stream = stream,
                        .lane = lane,
                        .call = call,
                        .op = instruction.op,
                        .issue = times.issue[lane],
                        .start = times.start[lane],
                        .end = times.end[lane]});
  }
}

void TraceRecorder::record_later(std::uint32_t call, const Instruction& instruction,
                                 const Picoseconds* issue, const CompletionRef& completion) {
  open_.push_back({.first = records_.size(), .sends = instruction.sends, .completion = completion});
  record(call, instruction, instruction.stream, {.issue = issue, .start = issue, .end = issue});
}

Trace join_traces(std::span<TraceRecorder> roles) {
  Trace trace;
  // First record of each transfer's send and receive.
  std::unordered_map<const Completion*, TraceTransfer> transfers;
  std::vector<const Completion*> order;
  int lanes = 1;
  for (TraceRecorder& role : roles) {
    lanes = role.lanes_;
    for (const TraceRecorder::Open& open : role.open_) {
      const Completion& done = *open.completion;
      CHECK(done.terms.known, "a traced transfer is known at the end of the step");
      for (int lane = 0; lane < lanes; ++lane) {
        TraceRecord& record = role.records_[open.first + static_cast<std::size_t>(lane)];
        record.start = done.start[lane];
        record.end = done.end[lane];
      }
      if (done.terms.source < 0) continue;
      const auto first = static_cast<std::uint32_t>(trace.records.size() + open.first);
      const auto [place, is_new] = transfers.try_emplace(&done);
      if (is_new) order.push_back(&done);
      (open.sends ? place->second.send : place->second.recv) = first;
    }
    trace.records.insert(trace.records.end(), role.records_.begin(), role.records_.end());
  }
  for (const Completion* transfer : order) {
    const TraceTransfer& first = transfers.at(transfer);
    for (int lane = 0; lane < lanes; ++lane) {
      const auto offset = static_cast<std::uint32_t>(lane);
      trace.transfers.push_back({.send = first.send + offset, .recv = first.recv + offset});
    }
  }
  return trace;
}

}  // namespace windtunnel
