#pragma once
// The ops of a role that can make a stream wait, or let another one go on.
//
// Everything else takes time but never blocks. Left out as well are events between the compute
// stream and streams that wait for nothing else (tensor-parallel and gradient collectives) whose
// record and wait stand in one segment: there the compute stream waits only for what it has itself
// passed. A dry run of the program costs what is left.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "program/event_registers.h"
#include "program/verify_facts.h"

namespace windtunnel {

/// One direction between two roles on one communicator: transfers match first in, first out.
struct Channel {
  std::uint32_t comm = 0;
  int from = 0, to = 0;
  friend auto operator<=>(const Channel&, const Channel&) = default;
};

/// The channel of a send or receive that `role` issues.
Channel channel_of(const Op& op, std::size_t role);

/// Channels of a program, numbered in order of first use.
class ChannelTable {
 public:
  std::uint32_t number_of(const Channel& channel);
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<Channel, std::uint32_t> numbers_;
};

struct SyncOp {
  OpKind kind =
      OpKind::record;  // record, wait, host_sync, send, recv; collective: of several roles
  Stream stream = Stream::compute;
  bool grouped = false;
  bool joins = false;  // wait: for the point `joined` has reached, without an event
  Stream joined = Stream::compute;
  std::uint32_t op = 0;       // into Program::ops
  std::uint32_t channel = 0;  // send, recv: number; collective: communicator
  EventPlace event;           // record, wait, host_sync
};

struct RoleSyncOps {
  std::vector<SyncOp> ops;
  std::vector<OpRange> of_variant;  // by RoleFacts::variants, into ops
  std::uint32_t registers = 0;

  std::span<const SyncOp> of(std::uint32_t variant) const {
    const OpRange r = of_variant[variant];
    return std::span(ops).subspan(r.begin, r.end - r.begin);
  }
};

/// As every step but the first runs them.
RoleSyncOps sync_ops_of(const ProgramFacts& facts, std::size_t role, ChannelTable& channels);

}  // namespace windtunnel
