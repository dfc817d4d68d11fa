#include "runtime/stream_order.h"

#include <algorithm>

#include "program/op_names.h"

namespace windtunnel {

std::string StreamOrder::access(const Elements& elements, Stream stream, Access access) {
  std::vector<Past>& all = past_[elements.instance];
  const std::int64_t op = clocks_[index(stream)][index(stream)];
  bool known = false;
  for (Past& past : all) {
    const bool overlaps = past.begin < elements.end && elements.begin < past.end;
    const bool conflicts = access == Access::write || past.access == Access::write;
    if (overlaps && conflicts && !ordered(past, stream)) return name_of(past.stream);
    if (past.begin == elements.begin && past.end == elements.end && past.stream == stream &&
        past.access == access) {
      past.op = op;
      known = true;
    }
  }
  if (!known) {
    all.push_back({.begin = elements.begin,
                   .end = elements.end,
                   .stream = stream,
                   .access = access,
                   .op = op});
  }
  return "";
}

void StreamOrder::wait(const EventKey& event, Stream stream) {
  const auto recorded = events_.find(event);
  if (recorded == events_.end()) return;  // as in CUDA, waiting for what was never recorded is free
  Clock& clock = clocks_[index(stream)];
  for (std::size_t s = 0; s < kStreams; ++s) clock[s] = std::max(clock[s], recorded->second[s]);
}

void StreamOrder::host_sync(const EventKey& event) {
  for (std::size_t s = 0; s < kStreams; ++s) wait(event, static_cast<Stream>(s));
}

std::string StreamOrder::give_back(const InstanceKey& instance, Stream stream) {
  const auto found = past_.find(instance);
  if (found == past_.end()) return "";
  for (const Past& past : found->second) {
    if (!ordered(past, stream)) return name_of(past.stream);
  }
  past_.erase(found);
  return "";
}

}  // namespace windtunnel
