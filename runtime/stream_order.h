#pragma once
// Would the streams of one device run in an order that keeps memory right?
//
// The interpreter executes ops in host order; a device orders two ops of different streams only
// through `record` and `wait` (or a host sync). `StreamOrder` keeps a vector clock per stream: for
// each stream, up to which op of every other stream it has waited. Two accesses to the same
// elements, one of them a write, on streams that no wait orders are a race. Memory given back to
// the allocator may be handed out again at once on its pool's stream, so every access must be
// ordered before that stream's next op.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "program/program.h"

namespace windtunnel {

enum class Access : std::uint8_t { read, write };

class StreamOrder {
 public:
  /// An instance of a root slot: slot and micro-batch.
  using InstanceKey = std::pair<SlotId, std::int32_t>;
  struct Elements {
    InstanceKey instance;
    std::int64_t begin = 0, end = 0;
  };
  /// An event register: event, chunk and micro-batch (-1 for static ones).
  using EventKey = std::tuple<std::uint32_t, int, std::int32_t>;

  /// A new op on the stream; what follows by `access` belongs to it.
  void issue(Stream stream) { ++clocks_[index(stream)][index(stream)]; }
  /// Empty, or the name of the stream that may still work on these elements.
  std::string access(const Elements& elements, Stream stream, Access access);
  void record(const EventKey& event, Stream stream) { events_[event] = clocks_[index(stream)]; }
  void wait(const EventKey& event, Stream stream);
  void host_sync(const EventKey& event);
  /// Gives an instance back to the pool of `stream`; as `access`.
  std::string give_back(const InstanceKey& instance, Stream stream);

 private:
  static constexpr std::size_t kStreams = static_cast<std::size_t>(Stream::count);
  using Clock = std::array<std::int64_t, kStreams>;
  /// The last access of one kind by one stream to one range.
  struct Past {
    std::int64_t begin = 0, end = 0;
    Stream stream = Stream::compute;
    Access access = Access::read;
    std::int64_t op = 0;
  };
  static std::size_t index(Stream stream) { return static_cast<std::size_t>(stream); }
  bool ordered(const Past& past, Stream stream) const {
    return past.op <= clocks_[index(stream)][index(past.stream)];
  }

  std::array<Clock, kStreams> clocks_{};
  std::map<EventKey, Clock> events_;
  std::map<InstanceKey, std::vector<Past>> past_;
};

}  // namespace windtunnel
