#include "sim/engine/simulate_step.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "core/check.h"
#include "sim/engine/role_sweep.h"
#include "sim/engine/shared_links.h"

namespace windtunnel {

namespace {

class Sweep {
 public:
  struct Step {
    const Program& program;
    const CompiledProgram& compiled;
    const StepCosts& costs;
    SharedLinks* shared = nullptr;  // T2
    bool trace = false;
  };
  explicit Sweep(const Step& step, LaneGrid grid)
      : compiled_(step.compiled),
        grid_(std::move(grid)),
        slow_links_(step.program, compiled_, step.costs, grid_),
        pool_(grid_),
        rendezvous_({.program = step.program,
                     .compiled = compiled_,
                     .slow_links = slow_links_,
                     .pool = pool_}) {
    const int roles = static_cast<int>(step.program.roles.size());
    if (step.trace) {
      for (int r = 0; r < roles; ++r) recorders_.emplace_back(r, grid_.lanes());
    }
    for (int r = 0; r < roles; ++r) {
      const auto role = static_cast<std::size_t>(r);
      roles_.push_back(std::make_unique<RoleSweep>(
          RoleSweep::Step{
              .program = step.program,
              .compiled = compiled_,
              .costs = step.costs,
              .grid = grid_,
              .slow_links = slow_links_,
              .pool = pool_,
              .rendezvous = rendezvous_,
              .recorder = step.trace ? &recorders_[role] : nullptr,
              .transfers = step.shared == nullptr ? nullptr : &step.shared->logs()[role]},
          r));
      ready_.push_back(r);
    }
    next_waiter_.assign(roles_.size(), -1);
    blockers_.assign(roles_.size(), nullptr);
  }

  StepTiming run() {
    while (!ready_.empty()) {
      const int role = ready_.front();
      ready_.pop_front();
      Completion* blocker = roles_[static_cast<std::size_t>(role)]->advance();
      blockers_[static_cast<std::size_t>(role)] = blocker;
      if (blocker != nullptr) {
        next_waiter_[static_cast<std::size_t>(role)] = std::exchange(blocker->terms.waiter, role);
      }
      if (rendezvous_.has_woken()) wake();
    }
    require_all_done();
    return timing();
  }

 private:
  void wake() {
    for (int role : rendezvous_.take_woken()) {
      for (; role >= 0; role = next_waiter_[static_cast<std::size_t>(role)]) ready_.push_back(role);
    }
  }

  void require_all_done() const {
    std::string stuck;
    for (std::size_t role = 0; role < roles_.size(); ++role) {
      if (blockers_[role] == nullptr) continue;
      stuck += "\n  " + roles_[role]->position() + " waits for " +
               rendezvous_.describe(*blockers_[role]);
    }
    if (!stuck.empty()) throw StuckError("the step is stuck:" + stuck);
  }

  StepTiming timing() {
    const auto lanes = static_cast<std::size_t>(grid_.lanes());
    const auto draws = static_cast<std::size_t>(grid_.draws);
    StepTiming result{.grid = grid_, .step_time = std::vector<Picoseconds>(draws, 0)};
    for (const auto& role : roles_) {
      result.roles.push_back({.end = {role->end(), role->end() + lanes}});
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        Picoseconds& step = result.step_time[lane % draws];
        step = std::max(step, role->end()[lane]);
      }
      result.op_executions += role->executed() * grid_.lanes();
    }
    std::vector<Picoseconds> step_end(lanes);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      step_end[lane] = result.step_time[lane % draws];
    }
    for (std::size_t role = 0; role < roles_.size(); ++role) {
      result.roles[role].time = roles_[role]->close(step_end.data());
    }
    result.categories = compiled_.categories;
    if (!recorders_.empty()) result.trace = join_traces(recorders_);
    return result;
  }

  const CompiledProgram& compiled_;
  LaneGrid grid_;
  SlowLinks slow_links_;
  CompletionPool pool_;  // outlives everything that holds a completion
  Rendezvous rendezvous_;
  std::vector<TraceRecorder> recorders_;
  std::vector<std::unique_ptr<RoleSweep>> roles_;
  std::deque<int> ready_;
  std::vector<int> next_waiter_;       // [role]: next role waiting for the same completion
  std::vector<Completion*> blockers_;  // [role]: what it waits for; nullptr: done or ready
};

/// The lanes of a step. A flow stands for all groups of a role or for one of them, so with flows
/// ranks are folded to one lane or not at all.
LaneGrid grid_of(const Program& program, const StepCosts& costs, Ranks ranks) {
  if (ranks == Ranks::folded && !costs.jitter.any()) {
    LaneGrid folded = folded_grid(program, costs);
    if (!costs.flows.any() || folded.lanes() == costs.draws) return folded;
  }
  return unfolded_grid(program.mesh, costs.draws);
}

/// Rounds of sweep and fluid after which the step is taken as it is. Steps settle in as many rounds
/// as delays follow from each other; what is left after these is small (docs/engine.md).
constexpr int kMaxRounds = 64;

StepTiming sweep_with_shared_links(const Sweep::Step& step, const StepOptions& options) {
  const StepCosts nominal = nominal_costs(step.costs);
  const LaneGrid grid = grid_of(step.program, nominal, options.ranks);
  SharedLinks shared(step.program, step.costs.flows, grid);
  const Sweep::Step round{
      .program = step.program, .compiled = step.compiled, .costs = nominal, .shared = &shared};
  LinkSharing sharing{.settled = false};
  StepTiming timing;
  while (!sharing.settled && sharing.rounds < kMaxRounds) {
    shared.rewind();
    timing = Sweep(round, grid).run();
    ++sharing.rounds;
    const std::optional<std::size_t> changed = shared.update();
    if (!changed) break;
    sharing.settled = *changed == 0;
  }
  sharing.slowed = shared.slowed();
  if (step.costs.draws > 1 || options.trace || !sharing.settled) {
    shared.rewind();
    Sweep::Step last = {.program = step.program,
                        .compiled = step.compiled,
                        .costs = step.costs,
                        .shared = &shared,
                        .trace = options.trace};
    timing = Sweep(last, grid_of(step.program, step.costs, options.ranks)).run();
  }
  timing.sharing = sharing;
  return timing;
}

}  // namespace

StepTiming simulate_step(const Program& program, const StepCosts& costs,
                         const StepOptions& options) {
  CHECK(costs.draws > 0 && costs.launch.size() == static_cast<std::size_t>(costs.draws) &&
            costs.duration.size() == program.ops.size() * static_cast<std::size_t>(costs.draws),
        "one cost per op and draw");
  const CompiledProgram compiled = compile(
      program, {.step = options.step, .stretch_launches = launches_per_note(costs.run_ahead)});
  const Sweep::Step step{
      .program = program, .compiled = compiled, .costs = costs, .trace = options.trace};
  if (costs.flows.any()) return sweep_with_shared_links(step, options);
  return Sweep(step, grid_of(program, costs, options.ranks)).run();
}

}  // namespace windtunnel
