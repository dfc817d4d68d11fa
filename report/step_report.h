#pragma once
// A step report: everything that is said about one step of one scenario, as plain data.
//
// `planning/` fills it from the simulation, a run from what it measured; `report/` turns it into
// text and JSON (docs/step_json.md), reads the JSON back and compares two. Times are seconds, sizes
// bytes, fractions of 1. The breakdown's parts sum to the step time.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace windtunnel {

enum class Verdict : std::uint8_t { fits, tight, oom };

struct StageMemory {
  int stage = 0;
  std::int64_t peak_allocated_bytes = 0, peak_reserved_bytes = 0, peak_device_bytes = 0;
  /// At the moment of peak allocation, largest first; "context", "nccl" and "other" stand outside
  /// the allocator.
  std::vector<std::pair<std::string, std::int64_t>> by_category;
  std::string moment;  // "backward, micro-batch 7, layer 12, after gemm_dgrad"
  std::vector<std::pair<std::string, std::int64_t>> largest;       // tensors alive then
  std::int64_t startup_peak_bytes = 0, first_step_peak_bytes = 0;  // allocated
  std::int64_t host_bytes = 0;  // of its host's memory, for what a rank offloads
};

struct MemoryAnswer {
  Verdict verdict = Verdict::fits;
  double oom_probability = 0.0;
  std::int64_t capacity_bytes = 0;  // what one process can really get
  std::vector<StageMemory> stages;
  int fullest_stage = 0;
  std::string
      breaking;  // when it does not fit: the tensor and the moment of the first failing allocation
  std::int64_t host_node_bytes = 0;      // of the fullest node's memory, for what its ranks offload
  std::int64_t host_capacity_bytes = 0;  // that node's memory; 0: not stated
};

struct ExposedComm {
  double tp = 0, pp = 0, dp = 0, cp = 0, ep = 0;
  double total() const { return tp + pp + dp + cp + ep; }
};

/// Where the time of one stage (or the mean over stages) goes; the fields sum to the step time.
struct Breakdown {
  double compute = 0;
  ExposedComm exposed_comm;
  double bubble = 0, straggler = 0, host = 0, input = 0;
  // Parts of `compute`:
  double gemm = 0, attention = 0, memory_bound = 0;
  double recompute = 0;  // of all compute, the part that is recomputation
  std::vector<std::pair<std::string, double>> compute_by_module;
};

/// Times that half, nine in ten and 99 in 100 steps do not exceed.
struct StepPercentiles {
  double p50 = 0, p90 = 0, p99 = 0;
  int steps = 0;  // simulated
};

enum class StepKind : std::uint8_t { simulation, run };

/// What one rank of a pipeline stage communicates in a step with one kind of call. Elements and
/// bytes are those of the full (gathered) tensor, summed over the calls; of transfers those sent or
/// received.
struct TrafficRow {
  int stage = 0;
  std::string kind;          // "all_gather", "send"
  std::string communicator;  // "tp", "pp_fwd"
  std::int64_t count = 0, elements = 0, bytes = 0;

  friend bool operator==(const TrafficRow&, const TrafficRow&) = default;
};

struct StepReport {
  std::string id, name;
  StepKind kind = StepKind::simulation;
  double step_time_s = 0;
  std::array<double, 2> step_time_interval_s{};            // 90 %
  std::optional<StepPercentiles> step_time_percentiles_s;  // of noise from call to call; none: none
  /// Of a run: its shortest and longest step, of which step_time_s is the median.
  std::optional<std::array<double, 2>> step_time_spread_s;
  std::vector<double> step_times_s, losses;  // of a run: by step
  double tokens_per_s = 0, tokens_per_s_per_device = 0;
  double mfu = 0, hfu = 0;
  std::string flop_convention;
  std::string bottleneck, runner_up, lever;  // §8.2 classes
  Breakdown breakdown;                       // mean over pipeline stages
  std::vector<Breakdown> stages;
  MemoryAnswer memory;
  std::vector<TrafficRow> traffic;   // by stage
  std::vector<std::string> origins;  // "gemm: 83 % of its time from measured shapes (…), …"
  std::vector<std::string> assumptions;
  std::vector<std::string> degraded;        // slow parts of the cluster, and the step without them
  std::optional<double> step_time_sound_s;  // empty: no part is slow
  std::vector<std::string>
      calibrate_next;  // which unmeasured shape or link the interval comes from
  // The plan in words, for the head of the report.
  std::string model_line, cluster_line, plan_line, stack_line;
  std::int64_t parameters = 0;
  std::optional<std::int64_t> trained_parameters;  // empty: all
};

}  // namespace windtunnel
