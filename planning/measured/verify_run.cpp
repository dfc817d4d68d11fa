#include "planning/measured/verify_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/diagnostics.h"
#include "plan/lower.h"
#include "planning/traffic.h"
#include "planning/utilization.h"
#include "program/mesh.h"
#include "runtime/interpreter.h"
#include "scenarios/scenario_place.h"
#include "sim/memory/replay.h"

namespace windtunnel {

namespace {

constexpr int kSteps = 2;  // the second uses what the first updated

/// The ranks' values as one execution's.
ExecutionRecord record_of(const std::vector<RankOutcome>& outcomes) {
  ExecutionRecord record;
  record.steps.resize(kSteps);
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const RankOutcome& rank : outcomes) {
    for (std::size_t s = 0; s < record.steps.size(); ++s) {
      const StepRecord& values = rank.steps.at(s).values;
      append(record.steps[s].losses, values.losses);
      append(record.steps[s].norms, values.norms);
      append(record.steps[s].used, values.used);
      append(record.steps[s].gradients, values.gradients);
      append(record.steps[s].updated, values.updated);
    }
  }
  return record;
}

class Verification {
 public:
  Verification(const RunRequest& request, const Lowered& lowered)
      : request_(request), lowered_(lowered), one_(lower(one_device(lowered.resolved))) {
    request_.warm_up = 0;
    request_.steps = kSteps;
    request_.recording = Recording::values;
  }

  RunProof run() {
    numbers("field", NumberMode::field, NumberMode::field);
    numbers("fp64", NumberMode::fp64, NumberMode::fp64);
    // Held against the more exact one.
    const std::vector<RankOutcome> fp32 = numbers("fp32", NumberMode::fp64, NumberMode::fp32);
    bytes(fp32);
    memory(fp32);
    return std::move(proof_);
  }

 private:
  std::vector<RankOutcome> numbers(const char* name, NumberMode one_device, NumberMode compared) {
    request_.numbers = name;
    std::vector<RankOutcome> outcomes = run_program(request_, lowered_);
    const ExecutionRecord record = record_of(outcomes);
    const ExecutionRecord one =
        execute(one_, {.mode = one_device, .steps = kSteps, .seed = request_.seed});
    const ProofResult result = compare_records({.program = lowered_.program, .record = record},
                                               {.program = one_, .record = one}, compared);
    proof_.lines.push_back({name, text_of(result), result.equal()});
    return outcomes;
  }

  /// What left through MPI in the last step against the program's count, rank by rank.
  void bytes(const std::vector<RankOutcome>& outcomes) {
    const Grid grid = dense_grid(lowered_.program.mesh);
    const std::vector<TrafficRow> expected = traffic_rows(lowered_.program);
    std::string wrong;
    std::int64_t compared = 0;
    for (const RankOutcome& rank : outcomes) {
      const int stage = coordinates_of(grid, rank.rank).pp;
      std::vector<WireTraffic> left = rank.steps.back().traffic;
      for (const TrafficRow& row : expected) {
        if (row.stage != stage) continue;
        const auto found = std::find_if(left.begin(), left.end(), [&](const WireTraffic& t) {
          return t.communicator == row.communicator &&
                 name_of(static_cast<WireKind>(t.kind)) == row.kind;
        });
        ++compared;
        if (found == left.end() || found->bytes != row.bytes || found->count != row.count) {
          wrong = fmt::format("rank {}: {} on {} should be {} calls of {} bytes", rank.rank,
                              row.kind, row.communicator, row.count, row.bytes);
        }
        if (found != left.end()) left.erase(found);
      }
      if (!left.empty()) {
        wrong = fmt::format("rank {}: {} on {} is in no program", rank.rank,
                            name_of(static_cast<WireKind>(left.front().kind)),
                            left.front().communicator);
      }
    }
    proof_.lines.push_back(
        {"bytes", wrong.empty() ? fmt::format("equal ({} sums)", compared) : wrong, wrong.empty()});
  }

  /// The device's peaks in the last step against the replay of the program's allocations.
  void memory(const std::vector<RankOutcome>& outcomes) {
    const Grid grid = dense_grid(lowered_.program.mesh);
    std::string wrong;
    for (const RankOutcome& rank : outcomes) {
      const int stage = coordinates_of(grid, rank.rank).pp;
      const ReplayResult replayed = replay_memory(lowered_.program, stage, {});
      const DevicePeak& peak = rank.steps.back().memory;
      if (peak.allocated_bytes == replayed.later_step.allocated &&
          peak.reserved_bytes == replayed.later_step.reserved)
        continue;
      wrong = fmt::format("rank {}: peak {} allocated, {} reserved; the program's {} and {}",
                          rank.rank, peak.allocated_bytes, peak.reserved_bytes,
                          replayed.later_step.allocated, replayed.later_step.reserved);
    }
    proof_.lines.push_back(
        {"memory", wrong.empty() ? fmt::format("equal ({} peaks)", 2 * outcomes.size()) : wrong,
         wrong.empty()});
  }

  RunRequest request_;
  const Lowered& lowered_;
  Program one_;
  RunProof proof_;
};

}  // namespace

bool RunProof::equal() const {
  return std::all_of(lines.begin(), lines.end(), [](const ProofLine& l) { return l.equal; });
}

RunProof verify_run(const RunRequest& request, const Lowered& lowered) {
  const double flops = executed_flops(lowered.program).value;
  if (flops > kProvableFlops) {
    throw InputError({diagnostic_at(
        lowered.resolved.scenario, "model",
        fmt::format("a step of {:.3g} FLOP is too long for the naive kernels of a proof", flops),
        fmt::format("at most {:.3g}: fewer layers, a smaller hidden size, fewer tokens; the plan "
                    "can stay as it is",
                    kProvableFlops))});
  }
  return Verification(request, lowered).run();
}

std::string text_of(const RunProof& proof) {
  std::string text;
  for (const ProofLine& line : proof.lines) text += fmt::format("{:<8}{}\n", line.what, line.said);
  return text;
}

std::string json_of(const RunProof& proof) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  json["equal"] = proof.equal();
  for (const ProofLine& line : proof.lines) {
    json[line.what] = {{"equal", line.equal}, {"said", line.said}};
  }
  return json.dump(2);
}

}  // namespace windtunnel
