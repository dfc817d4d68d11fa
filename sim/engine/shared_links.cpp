#include "sim/engine/shared_links.h"

#include <algorithm>

#include "core/check.h"

namespace windtunnel {

namespace {

/// All delays one after another, which no step waits longer for: a quarter of the clock's range
/// (27 days). The prices have their own bound far below the rest.
constexpr double kMostDelay = 0x1p61;

/// [lead]: the longest of its group's lanes, whose transfer goes on until the last of them ends.
std::vector<Picoseconds> longest_of_groups(const std::vector<int>& leads,
                                           const Picoseconds* times) {
  std::vector<Picoseconds> longest(leads.size(), 0);
  for (std::size_t lane = 0; lane < leads.size(); ++lane) {
    Picoseconds& most = longest[static_cast<std::size_t>(leads[lane])];
    most = std::max(most, times[lane]);
  }
  return longest;
}

double in_ratio(Picoseconds part, Picoseconds whole) {
  return part == whole ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

SharedLinks::SharedLinks(const Program& program, const LinkFlows& flows, const LaneGrid& grid)
    : program_(program), flows_(flows), grid_(grid), leads_(program.comms.size()) {
  CHECK(grid.draws == 1, "links are shared once for all draws");
  CHECK(flows.of_role.size() == program.roles.size(), "flows for every role");
  const auto lanes = static_cast<std::size_t>(grid.lanes());
  for (const LinkFlows::Pattern& pattern : flows.patterns) {
    CHECK(lanes == 1 || pattern.by_lane.size() == lanes,
          "a step of all ranks has each group's flow");
  }
  for (const auto& of_op : flows.of_role) {
    CHECK(of_op.size() == program.ops.size(), "one flow per op");
    logs_.emplace_back(of_op, grid.lanes());
  }
}

void SharedLinks::rewind() {
  for (TransferLog& log : logs_) log.rewind();
}

const std::vector<int>& SharedLinks::leads_of(std::uint32_t comm) {
  std::vector<int>& leads = leads_[comm];
  if (!leads.empty()) return leads;
  leads = group_leads(grid_, program_.comms[comm]);
  return leads;
}

void SharedLinks::add_flows(std::size_t role, std::size_t entry) {
  const TransferEntry& e = logs_[role].entries()[entry];
  const LinkFlows::OpFlow& op = flows_.of_role[role][e.op];
  const LinkFlows::Pattern& pattern = flows_.patterns[op.pattern];
  const std::vector<int>& leads = leads_of(program_.ops[e.op].comm);
  const int lanes = grid_.lanes();
  const std::vector<Picoseconds> longest = longest_of_groups(leads, e.alone);
  for (int lane = 0; lane < lanes; ++lane) {
    if (leads[static_cast<std::size_t>(lane)] != lane) continue;
    const std::vector<LinkLoad>& loads =
        lanes == 1 ? pattern.folded : pattern.by_lane[static_cast<std::size_t>(lane)];
    // Noise is more or less to do, at the same rate: alone, no transfer is slowed.
    const Picoseconds alone = longest[static_cast<std::size_t>(lane)];
    const double noise = in_ratio(alone, e.usual[lane]);
    const Picoseconds latency =
        noise == 1.0 ? op.latency
                     : static_cast<Picoseconds>(static_cast<double>(op.latency) * noise);
    const Picoseconds own_time = alone - latency;
    if (loads.empty() || own_time <= 0 || op.work <= 0) continue;
    fluid_.push_back({.start = e.start[lane],
                      .latency = latency,
                      .work = op.work * noise,
                      .own_time = own_time,
                      .loads = loads});
    swept_.push_back({.start = e.start[lane],
                      .end = e.start[lane] + alone + e.delay[lane],
                      .role = static_cast<int>(role),
                      .point_to_point = program_.ops[e.op].kind == OpKind::send,
                      .stream = program_.ops[e.op].stream,
                      .lane = lane});
    places_.push_back({.role = role, .entry = entry, .lane = lane});
  }
}

std::size_t SharedLinks::set_delay(const Place& place, Picoseconds delay) {
  TransferEntry& e = logs_[place.role].entries()[place.entry];
  const std::vector<int>& leads = leads_of(program_.ops[e.op].comm);
  const bool changed = e.delay[place.lane] != delay;
  for (std::size_t lane = 0; lane < leads.size(); ++lane) {
    if (leads[lane] == place.lane) e.delay[lane] = delay;
  }
  return changed ? 1 : 0;
}

std::vector<Picoseconds> SharedLinks::run_round() const {
  const std::vector<Order> orders = order_of(swept_);
  std::vector<std::vector<std::size_t>> after(fluid_.size());
  std::vector<int> awaited(fluid_.size(), 0);
  std::vector<Picoseconds> starts(fluid_.size());
  Fluid fluid(flows_.capacity);
  std::vector<std::size_t> flow_of;  // [id in the fluid]
  const auto start = [&](std::size_t f) {
    FluidFlow flow = fluid_[f];
    flow.start = starts[f];
    fluid.start(flow);
    flow_of.push_back(f);
  };
  for (std::size_t f = 0; f < fluid_.size(); ++f) {
    const Order& order = orders[f];
    starts[f] = order.follows == Order::kNothing ? fluid_[f].start : 0;
    for (const std::size_t before : {order.behind, order.follows}) {
      if (before == Order::kNothing) continue;
      after[before].push_back(f);
      ++awaited[f];
    }
    if (awaited[f] == 0) start(f);
  }
  std::vector<Picoseconds> taken(fluid_.size());
  while (const std::optional<Picoseconds> next = fluid.next_event()) {
    fluid.advance_to(*next);
    for (const Fluid::FlowId id : fluid.take_ended()) {
      const std::size_t ended = flow_of[id];
      taken[ended] = *next - starts[ended];
      for (const std::size_t f : after[ended]) {
        const Picoseconds gap = orders[f].follows == ended ? orders[f].gap : 0;
        starts[f] = std::max(starts[f], *next + gap);
        if (--awaited[f] == 0) start(f);
      }
    }
  }
  return taken;
}

void SharedLinks::forget_delays() {
  for (TransferLog& log : logs_) {
    for (TransferEntry& entry : log.entries()) std::fill_n(entry.delay, grid_.lanes(), 0);
  }
  slowed_ = 0;
}

std::optional<std::size_t> SharedLinks::update() {
  fluid_.clear();
  swept_.clear();
  places_.clear();
  for (std::size_t role = 0; role < logs_.size(); ++role) {
    for (std::size_t entry = 0; entry < logs_[role].entries().size(); ++entry) {
      if (logs_[role].entries()[entry].ran) add_flows(role, entry);
    }
  }
  const std::vector<Picoseconds> taken = run_round();
  std::size_t changed = 0;
  slowed_ = 0;
  double together = 0;
  for (std::size_t f = 0; f < fluid_.size(); ++f) {
    const FluidFlow& flow = fluid_[f];
    const Picoseconds delay = std::max<Picoseconds>(0, taken[f] - flow.latency - flow.own_time);
    slowed_ += delay > 0 ? 1 : 0;
    together += static_cast<double>(delay);
    changed += set_delay(places_[f], delay);
  }
  if (together > kMostDelay) {
    forget_delays();
    return std::nullopt;
  }
  return changed;
}

}  // namespace windtunnel
