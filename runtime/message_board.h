#pragma once
// Where ranks of one process meet: collectives by (communicator, group, number) and messages by
// (source, destination, communicator, number).
//
// Contributions are copied when posted, so a later write of the sender does not show. Results come
// in member order: sums are taken in that order, gathers concatenate, scatters slice.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/reference/number.h"
#include "program/program.h"
#include "runtime/execution.h"

namespace windtunnel {

/// A transfer that was posted: `place` is (communicator, first rank of the group) for collectives
/// and (communicator, source, destination) for messages.
struct Ticket {
  OpKind kind = OpKind::collective;
  std::tuple<std::uint32_t, int, int> place;
  std::int64_t number = 0;
  int member = 0;  // collectives: this rank's place in the group

  friend bool operator==(const Ticket&, const Ticket&) = default;
};

/// What all members of a collective must agree on.
struct CollectiveShape {
  Collective collective = Collective::all_reduce;
  ReduceOp reduce = ReduceOp::none;
  std::int64_t elements = 0;  // of the full tensor
  Dtype dtype = Dtype::none;
  int distance = 1;  // ring_shift

  friend bool operator==(const CollectiveShape&, const CollectiveShape&) = default;
};

/// What a message is: sender and receiver must agree on it.
struct MessageLabel {
  Phase phase = Phase::forward;
  int boundary = 0;  // global chunk before the boundary it crosses
  int micro_batch = 0;
  std::int64_t elements = 0;
  Dtype dtype = Dtype::none;

  friend bool operator==(const MessageLabel&, const MessageLabel&) = default;
};

std::string text_of(const CollectiveShape& shape);
std::string text_of(const MessageLabel& label);

/// A rank's part in a collective.
template <class T>
struct Contribution {
  std::uint32_t comm = kNone;
  std::vector<int> group;  // ranks, ascending
  int member = 0;          // this rank's place in it
  CollectiveShape shape;
  std::vector<T> data;
};

/// Elements a member puts in and gets out of a collective of n members.
struct CollectiveSizes {
  std::int64_t in = 0, out = 0;
};
CollectiveSizes sizes_of(const CollectiveShape& shape, std::int64_t members);

/// The result of one member. Precondition: every member contributed.
template <class T>
std::vector<T> result_of(const CollectiveShape& shape, const std::vector<std::vector<T>>& parts,
                         int member);

template <class T>
class MessageBoard {
 public:
  /// Throws ExecutionError when the shape differs from what another member posted under the same
  /// number.
  Ticket post(Contribution<T> contribution);
  Ticket send(std::uint32_t comm, std::pair<int, int> from_to, MessageLabel label,
              std::vector<T> data);
  Ticket expect(std::uint32_t comm, std::pair<int, int> from_to, MessageLabel label);

  bool ready(const Ticket& ticket) const;
  /// Hands out the result and forgets it. Precondition: ready(ticket). Throws ExecutionError when a
  /// message is not the one the receiver expects.
  std::vector<T> take(const Ticket& ticket);

 private:
  using Place = std::tuple<std::uint32_t, int, int>;
  struct Meeting {
    CollectiveShape shape;
    std::vector<std::vector<T>> parts;
    std::vector<char> arrived;
    std::size_t present = 0, taken = 0;
  };
  struct Group {
    std::vector<std::int64_t> next;  // per member: number of its next collective
    std::map<std::int64_t, Meeting> meetings;
  };
  struct Channel {
    std::int64_t sent = 0, expected = 0;
    std::map<std::int64_t, std::pair<MessageLabel, std::vector<T>>> messages;
    std::map<std::int64_t, MessageLabel> wanted;
  };

  std::map<Place, Group> groups_;
  std::map<Place, Channel> channels_;
};

template <class T>
Ticket MessageBoard<T>::post(Contribution<T> c) {
  const Place place{c.comm, c.group.front(), -1};
  Group& group = groups_[place];
  const std::size_t members = c.group.size();
  const auto member = static_cast<std::size_t>(c.member);
  group.next.resize(members, 0);
  const std::int64_t number = group.next[member]++;
  Meeting& meeting = group.meetings[number];
  if (meeting.parts.empty()) {
    meeting.shape = c.shape;
    meeting.parts.resize(members);
    meeting.arrived.resize(members, 0);
  }
  if (meeting.shape != c.shape) {
    throw ExecutionError("collective " + std::to_string(number) + " of its group is " +
                         text_of(c.shape) + " here and " + text_of(meeting.shape) +
                         " on another member");
  }
  const auto wanted = sizes_of(c.shape, static_cast<std::int64_t>(members)).in;
  if (wanted != static_cast<std::int64_t>(c.data.size())) {
    throw ExecutionError(text_of(c.shape) + " takes " + std::to_string(wanted) +
                         " elements of each member, the input has " +
                         std::to_string(c.data.size()));
  }
  meeting.parts[member] = std::move(c.data);
  meeting.arrived[member] = 1;
  ++meeting.present;
  return {.kind = OpKind::collective, .place = place, .number = number, .member = c.member};
}

template <class T>
Ticket MessageBoard<T>::send(std::uint32_t comm, std::pair<int, int> from_to, MessageLabel label,
                             std::vector<T> data) {
  const Place place{comm, from_to.first, from_to.second};
  Channel& channel = channels_[place];
  const std::int64_t number = channel.sent++;
  channel.messages.emplace(number, std::pair{label, std::move(data)});
  return {.kind = OpKind::send, .place = place, .number = number, .member = 0};
}

template <class T>
Ticket MessageBoard<T>::expect(std::uint32_t comm, std::pair<int, int> from_to,
                               MessageLabel label) {
  const Place place{comm, from_to.first, from_to.second};
  Channel& channel = channels_[place];
  const std::int64_t number = channel.expected++;
  channel.wanted.emplace(number, label);
  return {.kind = OpKind::recv, .place = place, .number = number, .member = 0};
}

template <class T>
bool MessageBoard<T>::ready(const Ticket& ticket) const {
  if (ticket.kind == OpKind::collective) {
    const Meeting& meeting = groups_.at(ticket.place).meetings.at(ticket.number);
    return meeting.present == meeting.parts.size();
  }
  return channels_.at(ticket.place).messages.contains(ticket.number);
}

template <class T>
std::vector<T> MessageBoard<T>::take(const Ticket& ticket) {
  if (ticket.kind == OpKind::collective) {
    auto& meetings = groups_.at(ticket.place).meetings;
    Meeting& meeting = meetings.at(ticket.number);
    std::vector<T> result = result_of(meeting.shape, meeting.parts, ticket.member);
    if (++meeting.taken == meeting.parts.size()) meetings.erase(ticket.number);
    return result;
  }
  Channel& channel = channels_.at(ticket.place);
  auto [sent, data] = std::move(channel.messages.at(ticket.number));
  const MessageLabel wanted = channel.wanted.at(ticket.number);
  channel.messages.erase(ticket.number);
  channel.wanted.erase(ticket.number);
  if (sent != wanted) {
    throw ExecutionError("receives " + text_of(sent) + " where it expects " + text_of(wanted));
  }
  return data;
}

}  // namespace windtunnel
