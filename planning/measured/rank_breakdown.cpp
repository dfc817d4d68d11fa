#include "planning/measured/rank_breakdown.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "planning/breakdown_rows.h"
#include "program/verify_facts.h"

namespace windtunnel {

namespace {

/// A transfer as a wait sees it.
struct Awaited {
  const Op* op = nullptr;
  Picoseconds arrival = 0, start = 0, end = 0;
};

class Accounting {
 public:
  Accounting(const Program& program, const JoinedRank& rank)
      : program_(program), rank_(rank), rows_(program) {}

  Breakdown run(Picoseconds step_end) {
    if (rank_.records.empty()) return rows_.take();
    const Role& role = program_.roles[static_cast<std::size_t>(rank_.records.front().role)];
    for (std::uint32_t i = 0; i < role.calls.size(); ++i) walk(role, i);
    charge(step_end, {.kind = program_.roles.size() > 1 ? TimeKind::bubble : TimeKind::straggler});
    return rows_.take();
  }

 private:
  void walk(const Role& role, std::uint32_t index) {
    const Call& call = role.calls[index];
    for (const Op& op : program_.ops_of(call)) {
      const auto id = static_cast<std::uint32_t>(&op - program_.ops.data());
      const bool recorded = next_ < rank_.records.size() && rank_.records[next_].call == index &&
                            rank_.records[next_].op == id;
      if (recorded) {
        visit(op, next_++);
      } else if (op.kind == OpKind::record && op.stream != Stream::compute) {
        recorded_[key(role, op, call)] = last_on_[static_cast<std::size_t>(op.stream)];
      } else if (op.kind == OpKind::wait && op.stream == Stream::compute) {
        const auto found = recorded_.find(key(role, op, call));
        if (found != recorded_.end() && found->second.op != nullptr)
          waits_.push_back(found->second);
      }
    }
  }

  using EventKey = std::tuple<std::uint32_t, int, int>;
  static EventKey key(const Role& role, const Op& op, const Call& call) {
    const bool framed = role.events[op.event].per_frame;
    return {op.event, framed ? call.chunk : -1, framed ? call.micro_batch : -1};
  }

  void visit(const Op& op, std::size_t i) {
    const TraceRecord& record = rank_.records[i];
    const Awaited transfer{&op, rank_.arrivals[i], record.start, record.end};
    if (op.stream != Stream::compute) {
      last_on_[static_cast<std::size_t>(op.stream)] = transfer;
      return;
    }
    const bool computes = op.kind == OpKind::compute;
    gap(computes ? record.start : transfer.arrival);
    if (computes) {
      const Shape& shape = program_.shapes[op.shape];
      charge(record.end, {.kind = TimeKind::compute,
                          .module = op.module,
                          .cls = row_of(shape.kernel).cls,
                          .recompute = op.recompute});
    } else {
      await(transfer);
    }
  }

  /// Until the next op on the compute stream: what was awaited, then the host.
  void gap(Picoseconds until) {
    for (Awaited wait : waits_) {
      wait.arrival = std::min(wait.arrival, until);
      wait.start = std::min(wait.start, until);
      wait.end = std::min(wait.end, until);
      await(wait);
    }
    waits_.clear();
    charge(until, {.kind = TimeKind::host});
  }

  void await(const Awaited& t) {
    const Comm& comm = program_.comms[t.op->comm];
    const bool collective = t.op->kind == OpKind::collective && !spans_roles(comm);
    // Queued on its stream: behind other transfers, of which messages wait for other stages too.
    if (collective) charge(t.arrival, {.kind = TimeKind::exposed_comm, .comm = t.op->comm});
    charge(t.start, {.kind = collective ? TimeKind::straggler : TimeKind::bubble});
    charge(t.end, {.kind = TimeKind::exposed_comm, .comm = t.op->comm});
  }

  void charge(Picoseconds until, const TimeCategory& row) {
    if (until <= at_) return;
    rows_.add(row, from_picoseconds(until - at_).value);
    at_ = until;
  }

  const Program& program_;
  const JoinedRank& rank_;
  BreakdownRows rows_;
  Picoseconds at_ = 0;
  std::size_t next_ = 0;
  std::array<Awaited, static_cast<std::size_t>(Stream::count)> last_on_{};
  std::map<EventKey, Awaited> recorded_;
  std::vector<Awaited> waits_;
};

}  // namespace

Breakdown rank_breakdown(const Program& program, const JoinedRank& rank, Picoseconds step_end) {
  return Accounting(program, rank).run(step_end);
}

}  // namespace windtunnel
