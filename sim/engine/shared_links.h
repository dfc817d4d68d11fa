#pragma once
// Tier T2: transfers of different communicators that share links, by rounds of sweep and fluid.
//
// A sweep with the delays of the round before says when every transfer starts; the fluid of all
// transfers (sim/network/fluid.h) says how long each then takes, a start moving along with the end
// it probably waits for (flow_chains.h); that gives the delays of the next round. When a round
// changes nothing, sweep and fluid agree: every transfer starts when the step lets it and lasts as
// long as its links make it last.

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "program/program.h"
#include "sim/engine/flow_chains.h"
#include "sim/engine/lane_grid.h"
#include "sim/engine/link_flows.h"
#include "sim/engine/transfer_log.h"
#include "sim/network/fluid.h"

namespace windtunnel {

class SharedLinks {
 public:
  /// `program` and `flows` outlive this. `grid` has one draw; it is folded to one lane, or
  /// unfolded.
  SharedLinks(const Program& program, const LinkFlows& flows, const LaneGrid& grid);

  /// [role]
  std::deque<TransferLog>& logs() { return logs_; }
  void rewind();

  /// The fluid of what the logs hold; writes the delays and returns how many of them changed. None:
  /// the next sweep could leave the clock's range, so all delays are 0 again.
  std::optional<std::size_t> update();
  /// Transfers that take longer than alone, counted once per group.
  std::int64_t slowed() const { return slowed_; }

 private:
  struct Place {
    std::size_t role = 0;
    std::size_t entry = 0;
    int lane = 0;
  };
  /// Lane whose group's flow the lane takes part in.
  const std::vector<int>& leads_of(std::uint32_t comm);
  void add_flows(std::size_t role, std::size_t entry);
  /// How long each flow of the round takes.
  std::vector<Picoseconds> run_round() const;
  std::size_t set_delay(const Place& place, Picoseconds delay);
  void forget_delays();

  const Program& program_;
  const LinkFlows& flows_;
  const LaneGrid& grid_;
  std::deque<TransferLog> logs_;
  std::vector<std::vector<int>> leads_;  // [comm]; empty: not worked out
  std::vector<FluidFlow> fluid_;         // of the round
  std::vector<SweptTransfer> swept_;     // each flow in the sweep
  std::vector<Place> places_;            // of each flow
  std::int64_t slowed_ = 0;
};

}  // namespace windtunnel
