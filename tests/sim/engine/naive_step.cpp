#include "tests/sim/engine/naive_step.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "core/check.h"
#include "program/mesh.h"
#include "sim/engine/fixed_point.h"

namespace windtunnel::toy {

namespace {

/// (communicator, lowest member, number of the collective on the group)
using MeetingKey = std::tuple<std::uint32_t, int, int>;
/// (communicator, source rank, destination rank, number of the transfer)
using TransferKey = std::tuple<std::uint32_t, int, int, int>;

struct Transfer {
  Picoseconds send = 0, recv = 0, duration = 0;
};

class Walks {
 public:
  Walks(const Program& program, const StepCosts& costs)
      : program_(program), costs_(costs), ranks_(dense_grid(program.mesh)) {}

  NaiveTiming run() {
    NaiveTiming timing;
    timing.end.resize(static_cast<std::size_t>(ranks_.ranks()));
    constexpr int kMostWalks = 100000;
    for (int walk = 0; walk < kMostWalks; ++walk) {
      changed_ = false;
      for (int rank = 0; rank < ranks_.ranks(); ++rank) {
        timing.end[static_cast<std::size_t>(rank)] = walk_rank(rank);
      }
      if (!changed_) {
        timing.step_time = *std::max_element(timing.end.begin(), timing.end.end());
        return timing;
      }
    }
    CHECK(false, "the walks settle");
    return timing;
  }

 private:
  struct Rank {
    int rank = 0;
    Coordinates place;
    Picoseconds host = 0;
    std::array<Picoseconds, static_cast<std::size_t>(Stream::count)> tail{};
    std::map<std::uint32_t, Picoseconds> comm_tail;
    std::map<std::tuple<std::uint32_t, int, int>, Picoseconds> events;
    std::map<std::uint32_t, int> met;                         // collectives so far, per comm
    std::map<std::tuple<std::uint32_t, int, int>, int> sent;  // transfers so far, per channel
    std::vector<std::pair<int, Picoseconds>> notes;           // launches, compute tail
    int launched = 0;

    Picoseconds& at(Stream stream) { return tail[static_cast<std::size_t>(stream)]; }
  };

  void raise(Picoseconds& value, Picoseconds to) {
    if (to > value) {
      value = to;
      changed_ = true;
    }
  }

  Picoseconds compute_cost(const Rank& r, std::uint32_t op) const {
    Picoseconds cost = *costs_.of(op);
    const auto role = static_cast<std::size_t>(r.place.pp);
    if (role < costs_.role_factor.size() && costs_.role_factor[role] != 1.0) {
      cost = scale_q16(cost, to_q16(costs_.role_factor[role]));
    }
    for (const SlowRank& slow : costs_.slow_ranks) {
      if (slow.rank == r.rank) cost = scale_q16(cost, to_q16(slow.factor));
    }
    return cost;
  }

  Picoseconds slowed(Picoseconds price, const Op& op, const std::vector<int>& group) const {
    const auto index = static_cast<std::size_t>(&op - program_.ops.data());
    double most = 1;
    for (const SlowLink& slow : costs_.slow_links) {
      const bool in_group = std::find(group.begin(), group.end(), slow.rank) != group.end();
      if (slow.comm != op.comm || !in_group) continue;
      most = std::max(most,
                      slow.by_op == kNone ? slow.factor : costs_.link_factors[slow.by_op][index]);
    }
    return scale_q16(price, to_q16(most));
  }

  void issue(Rank& r, int launches) const {
    if (launches == 0) return;
    if (costs_.run_ahead > 0) {
      const int limit = r.launched + launches - costs_.run_ahead;
      for (const auto& [launched, tail] : r.notes) {
        if (launched <= limit) r.host = std::max(r.host, tail);
      }
    }
    r.launched += launches;
    r.host += launches * costs_.launch[0];
  }

  Picoseconds walk_rank(int rank) {
    Rank r{.rank = rank, .place = coordinates_of(ranks_, rank)};
    const Role& role = program_.roles[static_cast<std::size_t>(r.place.pp)];
    for (const Call& call : role.calls) {
      std::vector<const Op*> ops;
      for (const Op& op : program_.ops_of(call)) {
        if (runs(op, call, 1)) ops.push_back(&op);
      }
      for (std::size_t k = 0; k < ops.size(); ++k) {
        const bool post = ops[k]->kind == OpKind::send || ops[k]->kind == OpKind::recv;
        if (!post) {
          walk_op(r, role, call, *ops[k]);
          continue;
        }
        std::vector<const Op*> group{ops[k]};
        while (k + 1 < ops.size() && ops[k + 1]->grouped) group.push_back(ops[++k]);
        walk_posts(r, group);
      }
    }
    return std::max(r.host, *std::max_element(r.tail.begin(), r.tail.end()));
  }

  void walk_op(Rank& r, const Role& role, const Call& call, const Op& op) {
    const auto index = static_cast<std::uint32_t>(&op - program_.ops.data());
    const auto event = [&]() {
      const bool frame = role.events[op.event].per_frame;
      return std::tuple{op.event, frame ? call.chunk : -1, frame ? call.micro_batch : -1};
    };
    Picoseconds& tail = r.at(op.stream);
    switch (op.kind) {
      case OpKind::compute:
        issue(r, op.launches);
        tail = std::max(tail, r.host) + compute_cost(r, index);
        break;
      case OpKind::collective:
        issue(r, op.launches);
        tail = meet(r, op, std::max({tail, r.host, r.comm_tail[op.comm]}), *costs_.of(index));
        r.comm_tail[op.comm] = tail;
        break;
      case OpKind::record:
        r.events[event()] = tail;
        break;
      case OpKind::wait:
        if (r.events.contains(event())) tail = std::max(tail, r.events[event()]);
        break;
      case OpKind::host_sync:
        if (!r.events.contains(event())) break;
        issue(r, op.launches);
        r.host = std::max(r.host, r.events[event()]);
        break;
      case OpKind::host_work:
        if (op.stream == Stream::compute) {
          issue(r, op.launches);
          r.host += *costs_.of(index);
        } else {
          tail += *costs_.of(index);
        }
        break;
      default:
        break;
    }
    if (op.stream == Stream::compute &&
        (op.kind == OpKind::compute || op.kind == OpKind::collective)) {
      r.notes.emplace_back(r.launched, tail);
    }
  }

  Picoseconds meet(Rank& r, const Op& op, Picoseconds arrival, Picoseconds duration) {
    const Comm& comm = program_.comms[op.comm];
    const int lowest = members(program_.mesh, comm, r.rank).front();
    Picoseconds& start = meetings_[{op.comm, lowest, r.met[op.comm]++}];
    raise(start, arrival);
    return start + slowed(duration, op, members(program_.mesh, comm, r.rank));
  }

  void walk_posts(Rank& r, const std::vector<const Op*>& group) {
    int launches = 0;
    for (const Op* op : group) launches += op->launches;
    issue(r, launches);
    Picoseconds posted = r.host;
    for (const Op* op : group) posted = std::max(posted, r.at(op->stream));
    Picoseconds done = 0;
    for (const Op* op : group) {
      Coordinates peer_place = r.place;
      peer_place.pp = op->peer;
      const int peer = rank_of(ranks_, peer_place);
      const bool sends = op->kind == OpKind::send;
      const int source = sends ? r.rank : peer;
      const int destination = sends ? peer : r.rank;
      const int number = r.sent[{op->comm, source, destination}]++;
      Transfer& transfer = transfers_[{op->comm, source, destination, number}];
      raise(sends ? transfer.send : transfer.recv, posted);
      if (sends) {
        const Picoseconds price = *costs_.of(static_cast<std::uint32_t>(op - program_.ops.data()));
        transfer.duration = slowed(price, *op, {source, destination});
      }
      done = std::max(done, end_of({op->comm, source, destination, number}));
    }
    for (const Op* op : group) r.at(op->stream) = done;
  }

  Picoseconds end_of(const TransferKey& key) {
    Picoseconds end = 0;
    auto [comm, source, destination, last] = key;
    for (int number = 0; number <= last; ++number) {
      const Transfer& transfer = transfers_[{comm, source, destination, number}];
      end = std::max({end, transfer.send, transfer.recv}) + transfer.duration;
    }
    return end;
  }

  const Program& program_;
  const StepCosts& costs_;
  Grid ranks_;
  bool changed_ = false;
  std::map<MeetingKey, Picoseconds> meetings_;  // start
  std::map<TransferKey, Transfer> transfers_;
};

}  // namespace

NaiveTiming naive_step(const Program& program, const StepCosts& costs) {
  return Walks(program, costs).run();
}

}  // namespace windtunnel::toy
