#include "sim/engine/transfer_log.h"

#include "sim/engine/fixed_point.h"

namespace windtunnel {

namespace {

/// Entries whose times share one allocation.
constexpr std::size_t kEntriesPerBlock = 256;

/// The delay of a transfer that takes `part` where it takes `whole`; itself where they are equal.
Picoseconds in_proportion(Picoseconds delay, Picoseconds part, Picoseconds whole) {
  if (delay == 0 || whole == 0) return delay;
  return scale_q16(delay, to_q16(static_cast<double>(part) / static_cast<double>(whole)));
}

}  // namespace

TransferEntry* TransferLog::next(std::uint32_t op) {
  if (!shares(op)) return nullptr;
  if (next_ == entries_.size()) {
    const std::size_t place = next_ % kEntriesPerBlock;
    if (place == 0) {
      times_.push_back(std::make_unique<Picoseconds[]>(4 * lanes_ * kEntriesPerBlock));
    }
    Picoseconds* times = times_.back().get() + 4 * lanes_ * place;
    entries_.push_back({.start = times,
                        .usual = times + lanes_,
                        .alone = times + 2 * lanes_,
                        .delay = times + 3 * lanes_});
  }
  TransferEntry& entry = entries_[next_++];
  entry.op = op;
  return &entry;
}

void note_usual(TransferEntry& entry, LaneCount count, const Picoseconds* start,
                const Picoseconds* end) {
  if (count.draws > 1) return;
  for (int lane = 0; lane < count.lanes; ++lane) entry.usual[lane] = end[lane] - start[lane];
}

void share_links(TransferEntry& entry, LaneCount count, const Picoseconds* start,
                 Picoseconds* end) {
  entry.ran = true;
  if (count.draws == 1) {
    for (int lane = 0; lane < count.lanes; ++lane) {
      entry.start[lane] = start[lane];
      entry.alone[lane] = end[lane] - start[lane];
      end[lane] += entry.delay[lane];
    }
    return;
  }
  for (int lane = 0; lane < count.lanes; ++lane) {
    const int rank = lane / count.draws;
    end[lane] += in_proportion(entry.delay[rank], end[lane] - start[lane], entry.alone[rank]);
  }
}

}  // namespace windtunnel
