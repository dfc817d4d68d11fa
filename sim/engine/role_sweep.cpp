#include "sim/engine/role_sweep.h"

#include <algorithm>

#include "core/check.h"
#include "sim/engine/lane_math.h"

namespace windtunnel {

namespace {

const char* name_of(Action action) {
  switch (action) {
    case Action::compute:
    case Action::side_compute:
      return "compute";
    case Action::join:
    case Action::side_join:
    case Action::meet:
      return "collective";
    case Action::post:
      return "send or recv";
    case Action::record:
      return "record";
    case Action::wait:
    case Action::follow:
      return "wait";
    case Action::host_work:
    case Action::load:
      return "host_work";
    case Action::host_sync:
      return "host_sync";
  }
  return "?";
}

}  // namespace

RoleSweep::RoleSweep(const Step& step, int role)
    : step_(step),
      index_(role),
      lanes_(step.grid.lanes()),
      role_(step.program.roles[static_cast<std::size_t>(role)]),
      code_(step.compiled.roles[static_cast<std::size_t>(role)]),
      costs_(step.program, step.costs, step.grid, role),
      overlap_(step.costs.theft, lanes_),
      host_(step.costs, step.grid),
      compute_(step.pool, overlap_, step.compiled.categories.size(), role),
      side_tails_(static_cast<std::size_t>(Stream::count)),
      comm_tails_(step.program.comms.size()),
      events_(code_.event_slots),
      nothing_(static_cast<std::size_t>(lanes_), 0),
      ready_(static_cast<std::size_t>(lanes_)),
      scratch_(static_cast<std::size_t>(lanes_)) {
  const bool lanes_are_draws = lanes_ == step.grid.draws;
  if (lanes_are_draws && costs_.by_draw_only() && !step.slow_links.any() &&
      step.recorder == nullptr) {
    stretch_costs_ = std::make_unique<StretchCosts>(code_, costs_, step.costs);
  }
  find_shared_stretches();
}

void RoleSweep::find_shared_stretches() {
  stretch_shares_.assign(code_.stretches, false);
  if (step_.transfers == nullptr) return;
  for (const Code& block : code_.code) {
    for (std::size_t k = 0; k < block.ops.size(); ++k) {
      const Instruction& first = block.ops[k];
      for (std::size_t op = k; op < k + first.stretch_ops; ++op) {
        const Instruction& i = block.ops[op];
        if (i.action != Action::join || !step_.transfers->shares(i.op)) continue;
        stretch_shares_[first.stretch] = true;
      }
    }
  }
}

Completion* RoleSweep::advance() {
  for (; call_ < role_.calls.size(); ++call_, pc_ = 0) {
    const std::vector<Instruction>& instructions = code();
    while (pc_ < instructions.size()) {
      if (Completion* blocker = execute(instructions[pc_])) return blocker;
      ++pc_;
      ++executed_;
    }
  }
  return drain();
}

Completion* RoleSweep::execute(const Instruction& i) {
  switch (i.action) {
    case Action::compute:
    case Action::join:
      return run_stretch(i);
    case Action::side_compute:
      return run_side_compute(i);
    case Action::side_join:
      return run_side_join(i);
    case Action::meet:
      return run_meet(i);
    case Action::post:
      return run_posts(i);
    case Action::record:
      run_record(i);
      return nullptr;
    case Action::wait:
      run_wait(i);
      return nullptr;
    case Action::follow:
      run_follow(i);
      return nullptr;
    case Action::host_work:
      run_host_work(i);
      return nullptr;
    case Action::load:
      run_load(i);
      return nullptr;
    case Action::host_sync:
      return run_host_sync(i);
  }
  return nullptr;
}

void RoleSweep::run_record(const Instruction& i) {
  Event& event = event_of(i);
  event.uses = i.uses == kCountedUses ? code_.uses_of_record[record_++] : i.uses;
  if (event.uses == 0) return;
  if (i.stream == Stream::compute) {
    event.first = step_.pool.make_at(compute_.tail());
    keep_rest(event, compute_.pending());
    return;
  }
  const Completions& tail = tail_of(i.stream);
  if (tail.empty()) {
    event.first = step_.pool.make_at(nothing_.data());
    return;
  }
  event.first = tail.front();
  keep_rest(event, std::span(tail).subspan(1));
}

void RoleSweep::keep_rest(Event& event, std::span<const CompletionRef> rest) {
  if (rest.empty()) return;
  event.rest = std::make_unique<Completions>(rest.begin(), rest.end());
}

void RoleSweep::use(Event& event) {
  if (--event.uses > 0) return;
  event.first = {};
  event.rest.reset();
}

void RoleSweep::hold_back(Stream stream, CompletionRef completion) {
  if (stream == Stream::compute) {
    compute_.wait_for(std::move(completion));
  } else {
    tail_of(stream).push_back(std::move(completion));
  }
}

void RoleSweep::run_wait(const Instruction& i) {
  Event& event = event_of(i);
  // CUDA's rule: a wait for an event that was never recorded does nothing.
  if (event.uses == 0) return;
  if (event.uses == 1 && event.rest == nullptr) {
    event.uses = 0;
    hold_back(i.stream, std::move(event.first));
    return;
  }
  hold_back(i.stream, event.first);
  if (event.rest != nullptr) {
    for (const CompletionRef& done : *event.rest) hold_back(i.stream, done);
  }
  use(event);
}

void RoleSweep::run_follow(const Instruction& i) {
  if (i.followed == Stream::compute) {
    hold_back(i.stream, step_.pool.make_at(compute_.tail()));
    for (const CompletionRef& done : compute_.pending()) hold_back(i.stream, done);
  } else {
    for (const CompletionRef& done : tail_of(i.followed)) hold_back(i.stream, done);
  }
}

Completion* RoleSweep::run_host_sync(const Instruction& i) {
  Event& event = event_of(i);
  if (event.uses == 0) return nullptr;
  Completions all{event.first};
  if (event.rest != nullptr) all.insert(all.end(), event.rest->begin(), event.rest->end());
  for (const CompletionRef& done : all) {
    if (Completion* blocker = step_.pool.resolve(*done)) return blocker;
  }
  host_.issue(i.launches);
  lane_math::copy(scratch_.data(), host_.now(), lanes_);
  for (const CompletionRef& done : all) host_.wait_until(done->end);
  use(event);
  if (step_.recorder != nullptr) {
    step_.recorder->record(
        static_cast<std::uint32_t>(call_), i, kHostTrack,
        {.issue = scratch_.data(), .start = scratch_.data(), .end = host_.now()});
  }
  return nullptr;
}

Completion* RoleSweep::drain() {
  for (Completions& tail : side_tails_) {
    for (const CompletionRef& done : tail) compute_.wait_for(done);
    tail.clear();
  }
  if (Completion* blocker = compute_.settle()) return blocker;
  compute_.idle_until_host(host_.now());
  return nullptr;
}

std::vector<Picoseconds> RoleSweep::close(const Picoseconds* step_end) {
  const bool alone = step_.program.roles.size() == 1;
  if (stretch_costs_ != nullptr) stretch_costs_->charge_to(compute_.table());
  compute_.idle_until(step_end, alone ? kStraggler : kBubble);
  return compute_.table().total();
}

std::string RoleSweep::position() const {
  std::string text = "role " + std::to_string(index_);
  if (call_ >= role_.calls.size()) return text + ", end of the step";
  const Segment& segment = step_.program.segments[call().segment];
  text += ", call " + std::to_string(call_) + " (";
  if (segment.name < step_.program.names.size()) text += step_.program.names[segment.name] + ", ";
  text += "chunk " + std::to_string(call().chunk) + ", micro-batch " +
          std::to_string(call().micro_batch) + "), ";
  return text + name_of(code()[pc_].action) + " (op " + std::to_string(code()[pc_].op) + ")";
}

}  // namespace windtunnel
