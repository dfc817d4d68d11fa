#include "sim/network/fluid.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "core/check.h"

namespace windtunnel {

namespace {

/// Own rates that fill a link together may exceed it by the rounding of their sum.
constexpr double kRounding = 1e-9;

double seconds(Picoseconds time) {
  return static_cast<double>(time) / kPicosecondsPerSecond;
}

}  // namespace

Fluid::Fluid(std::vector<double> capacity)
    : capacity_(std::move(capacity)), on_link_(capacity_.size()) {}

Fluid::FlowId Fluid::start(const FluidFlow& flow) {
  CHECK(flow.start >= now_, "a flow starts now or later");
  CHECK(flow.latency >= 0 && flow.work >= 0 && flow.own_time >= 0,
        "nothing takes less than no time");
  CHECK(flow.work == 0 || !flow.loads.empty() || flow.own_time > 0, "something bounds every flow");
  const FlowId id = flows_.size();
  flows_.push_back({.flow = flow, .begin = flow.start + flow.latency, .remaining = flow.work});
  begins_.push({.time = flows_.back().begin, .flow = id});
  return id;
}

double Fluid::own_rate(const FluidFlow& flow) const {
  return flow.own_time > 0 ? flow.work / seconds(flow.own_time)
                           : std::numeric_limits<double>::infinity();
}

bool Fluid::comes_before(FlowId a, FlowId b) const {
  const State& first = flows_[a];
  const State& second = flows_[b];
  const auto key = [](const State& s) {
    return std::tuple(s.begin, s.flow.work, s.flow.own_time, s.flow.loads.size());
  };
  if (key(first) != key(second)) return key(first) < key(second);
  return std::lexicographical_compare(first.flow.loads.begin(), first.flow.loads.end(),
                                      second.flow.loads.begin(), second.flow.loads.end());
}

void Fluid::begin(FlowId id) {
  State& state = flows_[id];
  state.rate_since = now_;
  if (state.flow.work == 0) {
    state.end = now_;
    state.ended = true;
    just_ended_.push_back(id);
    return;
  }
  state.streaming = true;
  for (const LinkLoad& load : state.flow.loads) {
    CHECK(load.link < capacity_.size(), "a flow's link exists");
    std::vector<FlowId>& flows = on_link_[load.link];
    const auto place = std::upper_bound(flows.begin(), flows.end(), id,
                                        [&](FlowId a, FlowId b) { return comes_before(a, b); });
    flows.insert(place, id);
  }
  changed_.push_back(id);
}

void Fluid::finish(FlowId id) {
  State& state = flows_[id];
  state.streaming = false;
  state.ended = true;
  state.rate = 0.0;
  just_ended_.push_back(id);
  for (const LinkLoad& load : state.flow.loads) {
    std::vector<FlowId>& flows = on_link_[load.link];
    flows.erase(std::find(flows.begin(), flows.end(), id));
    changed_.insert(changed_.end(), flows.begin(), flows.end());
  }
}

void Fluid::set_rate(FlowId id, double rate) {
  State& state = flows_[id];
  if (rate == state.rate) return;
  state.remaining = std::max(0.0, state.remaining - state.rate * seconds(now_ - state.rate_since));
  state.rate = rate;
  state.rate_since = now_;
  const bool undisturbed = now_ == state.begin && rate == own_rate(state.flow);
  state.end = now_ + (undisturbed ? state.flow.own_time
                                  : std::llround(state.remaining / rate * kPicosecondsPerSecond));
  ends_.push({.time = state.end, .flow = id, .changes = ++state.changes});
}

bool Fluid::could_be_full(std::uint32_t link) const {
  double demand = 0.0;
  for (const FlowId id : on_link_[link]) {
    for (const LinkLoad& load : flows_[id].flow.loads) {
      if (load.link == link) demand += own_rate(flows_[id].flow) * load.weight;
    }
  }
  return demand > capacity_[link] * (1 + kRounding);
}

std::vector<Fluid::FlowId> Fluid::changed_component() {
  std::vector<FlowId> reached;
  const auto reach = [&](FlowId id) {
    if (!flows_[id].streaming || std::exchange(flows_[id].reached, true)) return;
    reached.push_back(id);
  };
  for (const FlowId id : std::exchange(changed_, {})) reach(id);
  for (std::size_t next = 0; next < reached.size(); ++next) {
    for (const LinkLoad& load : flows_[reached[next]].flow.loads) {
      if (!could_be_full(load.link)) continue;
      for (const FlowId id : on_link_[load.link]) reach(id);
    }
  }
  for (const FlowId id : reached) flows_[id].reached = false;
  return reached;
}

void Fluid::solve() {
  if (changed_.empty()) return;
  std::vector<FlowId> component = changed_component();
  // Sums of doubles depend on their order, so it is the flows' own.
  std::sort(component.begin(), component.end(),
            [&](FlowId a, FlowId b) { return comes_before(a, b); });
  std::vector<FlowDemand> demands;
  for (const FlowId id : component) {
    demands.push_back({.loads = flows_[id].flow.loads, .own_rate = own_rate(flows_[id].flow)});
  }
  const std::vector<double> rates = fair_rates(capacity_, demands);
  for (std::size_t i = 0; i < component.size(); ++i) set_rate(component[i], rates[i]);
}

void Fluid::drop_void_ends() {
  while (!ends_.empty()) {
    const Expected& next = ends_.top();
    const State& state = flows_[next.flow];
    if (state.streaming && next.changes == state.changes) return;
    ends_.pop();
  }
}

std::optional<Picoseconds> Fluid::next_event() {
  // Rates are solved once per moment, so that ends are rounded alike whoever starts the flows.
  if (!begins_.empty() && begins_.top().time == now_) return now_;
  solve();
  drop_void_ends();
  if (begins_.empty() && ends_.empty()) return std::nullopt;
  if (begins_.empty()) return ends_.top().time;
  if (ends_.empty()) return begins_.top().time;
  return std::min(begins_.top().time, ends_.top().time);
}

void Fluid::advance_to(Picoseconds time) {
  CHECK(time >= now_, "time goes on");
  for (;;) {
    const std::optional<Picoseconds> next = next_event();
    if (!next || *next > time) break;
    now_ = *next;
    while (!ends_.empty() && ends_.top().time == now_) {
      const Expected ended = ends_.top();
      ends_.pop();
      const State& state = flows_[ended.flow];
      if (state.streaming && ended.changes == state.changes) finish(ended.flow);
    }
    while (!begins_.empty() && begins_.top().time == now_) {
      begin(begins_.top().flow);
      begins_.pop();
    }
    if (now_ == time) break;  // rates are solved when it is known what else starts now
  }
  now_ = time;
}

std::optional<Picoseconds> Fluid::end_of(FlowId flow) const {
  if (!flows_[flow].ended) return std::nullopt;
  return flows_[flow].end;
}

double Fluid::rate_of(FlowId flow) {
  solve();
  return flows_[flow].rate;
}

std::vector<Picoseconds> run_fluid(std::span<const double> capacity,
                                   std::span<const FluidFlow> flows) {
  Fluid fluid({capacity.begin(), capacity.end()});
  for (const FluidFlow& flow : flows) fluid.start(flow);
  while (const std::optional<Picoseconds> next = fluid.next_event()) fluid.advance_to(*next);
  std::vector<Picoseconds> ends;
  for (Fluid::FlowId id = 0; id < flows.size(); ++id) ends.push_back(*fluid.end_of(id));
  return ends;
}

}  // namespace windtunnel
