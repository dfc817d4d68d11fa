#pragma once
// The seam between a program and the wires: all communicators of one rank.
//
// A *channel set* (communicator) is a group of ranks with one queue. The host announces every
// transfer in issue order (`announce`); the stream it stands on says when it has come to it
// (`arrive`) and waits for its end (`finish`). Collectives of one communicator run in the order
// they were announced, one after another, whatever streams they stand on; messages between two
// ranks of a communicator are matched first in, first out.
//
// `announce` is called by the host, `arrive` and `finish` by the streams' threads.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace windtunnel {

enum class WireKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  ring_shift,
  send,
  recv
};

constexpr std::size_t kWireKinds = static_cast<std::size_t>(WireKind::recv) + 1;

/// "all_reduce", "send", ..: the names a program's ops have.
constexpr const char* name_of(WireKind kind) {
  constexpr const char* kNames[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                    "broadcast",  "ring_shift", "send",           "recv"};
  static_assert(std::size(kNames) == kWireKinds);
  return kNames[static_cast<int>(kind)];
}

enum class Reduction : std::uint8_t { none, sum, average, max };

/// What travels. `field`: integers modulo 2^31 - 1 in eight bytes, sums reduced again.
enum class WireType : std::uint8_t { fp32, fp64, field };

constexpr std::int64_t bytes_of(WireType type) {
  return type == WireType::fp32 ? 4 : 8;
}

/// One rank's part in a transfer. `elements` are those of the full (gathered) tensor, the
/// convention of nccl-tests; of a message, its own. all_gather: in holds elements / n,
/// reduce_scatter: out does. `in` may be `out`; of an all_gather it may be this member's place in
/// out, of a reduce_scatter out may be this member's place in `in`. ring_shift: `in` goes to the
/// member `distance` places on and `out`, another tensor, comes from the one as far before; the
/// last is before the first.
struct TransferPart {
  WireKind kind = WireKind::all_reduce;
  Reduction reduction = Reduction::none;
  WireType type = WireType::fp32;
  std::int64_t elements = 0;
  const void* in = nullptr;
  void* out = nullptr;
  int peer = -1;     // messages: the other rank
  int distance = 1;  // ring_shift
};

/// One communicator: the ranks of this rank's group, ascending. Empty: the rank is in none.
struct GroupMembers {
  std::string name;
  std::vector<int> ranks;
};

/// The wires failed: a peer is gone, or a call was refused. Names call and rank.
struct TransferError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Communicator {
 public:
  using Ticket = std::uint64_t;

  virtual ~Communicator() = default;

  /// Takes what memory such a transfer needs beside its operands, so that none is taken when it
  /// runs. Precondition: nothing is under way.
  virtual void reserve(int group, const TransferPart& part) = 0;

  /// Puts a transfer at the end of `group`'s queue. `group` counts the constructor's list.
  virtual Ticket announce(int group, const TransferPart& part) = 0;
  virtual void arrive(Ticket ticket) = 0;
  /// Returns when the transfer has ended. Throws TransferError.
  virtual void finish(Ticket ticket) = 0;
};

}  // namespace windtunnel
