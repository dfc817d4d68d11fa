#include "planning/validate.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "core/diagnostics.h"
#include "planning/simulate.h"
#include "program/mesh.h"
#include "scenarios/loader.h"

namespace windtunnel {

namespace {

/// One row to be; a file that does not load has its row at once.
struct PendingRow {
  Scenario scenario;
  ValidationRow row;
  bool internal_error = false;
};

std::string file_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

/// The first messages, which name the keys.
std::string reason_of(const InputError& error) {
  constexpr std::size_t kNamed = 4;
  std::string reason;
  for (std::size_t i = 0; i < std::min(kNamed, error.diagnostics.size()); ++i) {
    reason += (i > 0 ? "; " : "") + error.diagnostics[i].message;
  }
  if (error.diagnostics.size() > kNamed) {
    reason += "; and " + std::to_string(error.diagnostics.size() - kNamed) + " more";
  }
  return reason;
}

void add_file(const std::string& path, std::vector<PendingRow>& jobs, Validation& validation) {
  try {
    ScenarioSet set = load_scenarios(path);
    for (Scenario& scenario : set.scenarios) {
      PendingRow& job = jobs.emplace_back();
      job.row.id = scenario.id;
      job.row.source = set.name.empty() ? file_name(path) : set.name;
      job.row.group = scenario.group;
      job.row.assumed = scenario.assumed;
      job.row.measured = scenario.measured;
      job.scenario = std::move(scenario);
    }
  } catch (const InputError& error) {
    PendingRow& job = jobs.emplace_back();
    job.row.id = file_name(path);
    job.row.source = job.row.id;
    job.row.refused = reason_of(error);
    validation.load_errors.push_back(error.what());
  }
}

void run(PendingRow& job, const ValidateOptions& options) {
  try {
    job.row.predicted = options.predict(job.scenario);
  } catch (const InputError& error) {
    job.row.refused = reason_of(error);
  } catch (const std::exception& error) {
    // The other rows are worth having; the caller reports the bug.
    job.row.refused = std::string("internal error: ") + error.what();
    job.internal_error = true;
  }
  score(job.row);
  job.scenario = {};
}

/// Threads take the next row until none is left.
void run_all(std::vector<PendingRow>& jobs, const ValidateOptions& options) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t done = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      if (jobs[i].row.refused.empty()) run(jobs[i], options);
      const std::lock_guard lock(mutex);
      ++done;
      if (options.progress) options.progress(done, jobs.size());
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
}

template <class Bytes>
std::int64_t peak_of(const StepReport& report, int stage, Bytes StageMemory::*member) {
  std::int64_t peak = 0;
  for (const StageMemory& memory : report.memory.stages) {
    if (stage >= 0 && memory.stage != stage) continue;
    peak = std::max(peak, memory.*member);
  }
  return peak;
}

/// The pipeline stage of the rank the row's peak was read on; -1: the fullest.
int measured_stage(const Scenario& scenario, const Mesh& mesh) {
  if (!scenario.measured || !scenario.measured->peak_rank) return -1;
  const int rank = *scenario.measured->peak_rank;
  const Grid grid = dense_grid(mesh);
  return rank >= 0 && rank < grid.ranks() ? coordinates_of(grid, rank).pp : -1;
}

}  // namespace

Prediction predict(const Scenario& scenario) {
  const Simulation simulation = simulate(scenario, {});
  const StepReport& report = simulation.report;
  const int stage = measured_stage(scenario, simulation.lowered.program.mesh);
  return {.step_time_s = report.step_time_s,
          .step_time_interval_s = report.step_time_interval_s,
          .peak_allocated_bytes = peak_of(report, stage, &StageMemory::peak_allocated_bytes),
          .peak_reserved_bytes = peak_of(report, stage, &StageMemory::peak_reserved_bytes),
          .peak_device_bytes = peak_of(report, stage, &StageMemory::peak_device_bytes),
          .oom = report.memory.verdict == Verdict::oom};
}

int validation_threads() {
  constexpr unsigned kMostThreads = 4;
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads));
}

Validation validate(const std::vector<std::string>& paths, const ValidateOptions& options) {
  Validation validation;
  std::vector<PendingRow> jobs;
  for (const std::string& path : paths) {
    for (const std::string& file : find_scenario_files(path)) add_file(file, jobs, validation);
  }
  run_all(jobs, options);
  for (PendingRow& job : jobs) {
    validation.internal_error = validation.internal_error || job.internal_error;
    validation.rows.push_back(std::move(job.row));
  }
  validation.summaries = summarize(validation.rows);
  return validation;
}

}  // namespace windtunnel
