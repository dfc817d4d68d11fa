#include "planning/measured/joined_trace.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "program/mesh.h"
#include "runtime/execution.h"

namespace windtunnel {

namespace {

/// A record of a rank, by place.
struct Place {
  std::size_t rank = 0, record = 0;
};

/// (communicator, first member or source, -1 or destination).
using QueueKey = std::tuple<std::uint32_t, int, int>;

struct Queue {
  std::size_t members = 2;
  std::map<int, std::vector<Place>> of_member;  // in issue order
};

class Joining {
 public:
  Joining(const Program& program, const StepOfRanks& step)
      : program_(program), grid_(dense_grid(program.mesh)) {
    for (std::size_t r = 0; r < step.size(); ++r) {
      JoinedRank joined{.rank = static_cast<int>(r), .records = step[r]->records};
      for (const TraceRecord& record : joined.records) joined.arrivals.push_back(record.start);
      ranks_.push_back(std::move(joined));
    }
  }

  std::vector<JoinedRank> run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) collect(r);
    for (const auto& [key, queue] : queues_) settle(queue);
    return std::move(ranks_);
  }

 private:
  void collect(std::size_t rank) {
    const int id = static_cast<int>(rank);
    std::map<std::uint32_t, std::vector<int>> groups;
    for (std::size_t i = 0; i < ranks_[rank].records.size(); ++i) {
      const Op& op = program_.ops[ranks_[rank].records[i].op];
      if (op.kind == OpKind::collective) {
        std::vector<int>& group = groups[op.comm];
        if (group.empty()) group = members(program_.mesh, program_.comms[op.comm], id);
        Queue& queue = queues_[{op.comm, group.front(), -1}];
        queue.members = group.size();
        queue.of_member[id].push_back({rank, i});
      } else if (is_message(op.kind)) {
        const int peer = peer_of(op, id);
        const bool sends = op.kind == OpKind::send;
        queues_[{op.comm, sends ? id : peer, sends ? peer : id}].of_member[sends ? 0 : 1].push_back(
            {rank, i});
      }
    }
  }

  int peer_of(const Op& op, int rank) const {
    Coordinates at = coordinates_of(grid_, rank);
    at.pp = program_.roles[static_cast<std::size_t>(op.peer)].pipeline_rank;
    return rank_of(grid_, at);
  }

  void settle(const Queue& queue) {
    const std::size_t n = queue.of_member.begin()->second.size();
    for (const auto& [member, places] : queue.of_member) {
      if (places.size() == n && queue.of_member.size() == queue.members) continue;
      throw ExecutionError("members of a group did not issue the same transfers");
    }
    for (std::size_t i = 0; i < n; ++i) {
      Picoseconds last = 0;
      for (const auto& [member, places] : queue.of_member) {
        last = std::max(last, ranks_[places[i].rank].arrivals[places[i].record]);
      }
      for (const auto& [member, places] : queue.of_member) {
        TraceRecord& record = ranks_[places[i].rank].records[places[i].record];
        // A small message may have left before its receiver came.
        record.start = std::max(record.start, std::min(last, record.end));
      }
    }
  }

  const Program& program_;
  Grid grid_;
  std::vector<JoinedRank> ranks_;
  std::map<QueueKey, Queue> queues_;
};

}  // namespace

std::vector<JoinedRank> join_ranks(const Program& program, const StepOfRanks& step) {
  return Joining(program, step).run();
}

Trace trace_of(const Program& program, const std::vector<JoinedRank>& ranks) {
  Trace trace;
  std::map<std::int16_t, std::int32_t> lanes;
  std::vector<std::int32_t> lane_of_rank;
  for (const JoinedRank& rank : ranks) {
    const std::int16_t role = rank.records.empty() ? std::int16_t{0} : rank.records.front().role;
    lane_of_rank.push_back(lanes[role]++);
  }
  for (std::size_t role = 0; role < program.roles.size(); ++role) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      for (TraceRecord record : ranks[r].records) {
        if (record.role != static_cast<std::int16_t>(role)) break;
        record.lane = lane_of_rank[r];
        trace.records.push_back(record);
      }
    }
  }
  return trace;
}

}  // namespace windtunnel
