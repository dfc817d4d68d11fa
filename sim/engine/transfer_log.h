#pragma once
// When the transfers of one role that have a flow started, what they take alone, and what sharing
// links adds: written by one sweep, read by the fluid, and the delays by the next sweep.
//
// Entries are in host order, which is the same in every sweep of a program, so the n-th entry of a
// role is the same transfer each time. One value per lane; with draws, one for all draws of a rank:
// the others are delayed in proportion to what they take alone.

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/units.h"
#include "sim/engine/link_flows.h"

namespace windtunnel {

struct TransferEntry {
  std::uint32_t op = 0;
  bool ran = false;  // false: another role's price counts
  Picoseconds* start = nullptr;
  Picoseconds* usual = nullptr;  // alone, without noise
  Picoseconds* alone = nullptr;
  Picoseconds* delay = nullptr;
};

class TransferLog {
 public:
  /// `flows` by op outlives this. `lanes` without draws.
  TransferLog(const std::vector<LinkFlows::OpFlow>& flows, int lanes)
      : flows_(flows), lanes_(static_cast<std::size_t>(lanes)) {}

  /// The next transfer of the role, or nullptr where the op has no flow. Stays valid.
  TransferEntry* next(std::uint32_t op);
  /// Whether the op has a flow.
  bool shares(std::uint32_t op) const { return flows_[op].pattern != UINT32_MAX; }

  /// From the start again, delays kept.
  void rewind() { next_ = 0; }
  std::deque<TransferEntry>& entries() { return entries_; }

 private:
  const std::vector<LinkFlows::OpFlow>& flows_;
  std::size_t lanes_;
  std::size_t next_ = 0;
  std::deque<TransferEntry> entries_;
  std::vector<std::unique_ptr<Picoseconds[]>> times_;
};

struct LaneCount {
  int lanes = 1;  // draws included
  int draws = 1;
};

/// Notes what the transfer takes alone, before noise. With draws nothing is noted.
void note_usual(TransferEntry& entry, LaneCount count, const Picoseconds* start,
                const Picoseconds* end);

/// Delays `end`, which is when the transfer from `start` ends alone, by what sharing adds. Without
/// draws also notes start and duration.
void share_links(TransferEntry& entry, LaneCount count, const Picoseconds* start, Picoseconds* end);

}  // namespace windtunnel
