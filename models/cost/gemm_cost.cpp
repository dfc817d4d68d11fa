#include "models/cost/gemm_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "models/cost/peak_rate.h"

namespace windtunnel {

namespace {

struct Tile {
  double m, n;
};

/// Thread-block tiles that CUTLASS and cuBLAS ship for 16-bit products on sm80 and sm90
/// (NVIDIA/cutlass media/docs/profiler.md, kernel names).
constexpr std::array kTiles = {Tile{256, 128}, Tile{128, 256}, Tile{128, 128}, Tile{64, 256},
                               Tile{256, 64},  Tile{128, 64},  Tile{64, 128},  Tile{64, 64}};
constexpr std::int64_t kTensorCoreAlignment = 16;  // bytes of a row; GPU guide, "Tensor Core
                                                   // requirements"
constexpr double kLargestTile = 256.0 * 128.0;
constexpr std::array kSplits = {1.0, 2.0, 4.0};
constexpr double kLeastSplitDepth = 512.0;  // inner elements a split keeps, else it does not pay
constexpr double kSplitBytes = 8.0;  // fp32 partial sums are written and read once per element

// Leave-one-out over the A100 and H100 tables is flat in both around these values
// (docs/cost_gemm.md).
constexpr double kResidualReach = 0.3;  // in natural log units of distance
constexpr double kNoCorrection = 0.3;   // weight of a zero residual
constexpr std::size_t kNeighbours = 4;
constexpr double kModelSigma = 0.10;  // the model alone: 6-9 % mean error, p90 twice that
constexpr double kUnknownNarrowSigma =
    0.10;                            // the efficiency of 16 bits taken for a type unmeasured
constexpr double kNearSigma = 0.06;  // with a measured shape at no distance but another layout

double alignment_factor(const Profile& profile, const GemmProblem& problem) {
  double factor = 1.0;
  for (const AlignmentStep& step : profile.alignment) {
    if (static_cast<double>(problem.aligned_bytes) >= step.bytes) factor = step.factor;
  }
  return factor;
}

/// Best 8-bit rate over its peak, against the same of 16 bits; nothing is known of other types.
const Figure* narrow_efficiency(const Profile& profile, Dtype dtype) {
  if (dtype == Dtype::mxfp8) dtype = Dtype::fp8;
  const auto at = profile.gemm.narrow.find(dtype);
  return at == profile.gemm.narrow.end() ? nullptr : &at->second;
}

/// FLOP/s of full waves of the largest tile, before any power limit.
double full_rate(const Profile& profile, const GemmProblem& problem) {
  if (problem.batch > 1.0 && problem.aligned_bytes < kTensorCoreAlignment) {
    return peak_rate(profile, Dtype::fp32).value * profile.unaligned_batched.value;
  }
  const Figure* narrow = narrow_efficiency(profile, problem.dtype);
  return peak_rate(profile, problem.dtype).value * profile.gemm.efficiency.value *
         (narrow != nullptr ? narrow->value : 1.0) * alignment_factor(profile, problem);
}

/// What one multiprocessor reaches.
struct SmRates {
  double flops = 0, bytes = 0;
};

double tile_time(const GemmModel& model, const GemmProblem& problem, double splits, Tile tile,
                 SmRates sm) {
  const double area = tile.m * tile.n;
  const double half = model.tile_half_area.value;
  const double reuse = area / (area + half) * (kLargestTile + half) / kLargestTile;
  const double output = problem.output_bytes + (splits > 1.0 ? kSplitBytes : 0.0);
  return 2.0 * area * (problem.k / splits + model.ramp.value) / (sm.flops * reuse) +
         area * output * model.epilogue.value / sm.bytes;
}

struct Neighbour {
  double distance;
  double residual;
};

struct Correction {
  double log_factor = 0.0;
  double weight = 0.0;  // 0: nothing near, 1: as good as measured
  std::uint16_t source = 0;
};

GemmProblem problem_of(const GemmTable& table, const GemmRow& row) {
  const bool gradient = row.layout == GemmLayout::nt;
  return {.m = row.m,
          .n = row.n,
          .k = row.k,
          .layout = row.layout,
          .dtype = table.dtype,
          .output_bytes = gradient ? (row.accumulate_fp32 ? 8.0 : 4.0) : 2.0,
          .accumulate_fp32 = row.accumulate_fp32,
          .aligned_bytes = 16};
}

double distance(const GemmProblem& p, const GemmRow& row) {
  return std::hypot(std::log(p.m / row.m), std::log(p.n / row.n), std::log(p.k / row.k));
}

bool same_kind(const GemmTable& table, const GemmRow& row, const GemmProblem& p) {
  const bool half = (p.dtype == Dtype::fp16 || p.dtype == Dtype::bf16) &&
                    (table.dtype == Dtype::fp16 || table.dtype == Dtype::bf16);
  return row.layout == p.layout && row.accumulate_fp32 == p.accumulate_fp32 &&
         (half || table.dtype == p.dtype);
}

double measured_time(const GemmTable& table, const GemmRow& row) {
  return 2.0 * row.m * row.n * row.k / (row.flops * table.rate_scale);
}

struct TableRow {
  const GemmTable* table = nullptr;
  const GemmRow* row = nullptr;
};

/// The mean of the nearest residuals, rows at the same place as `without` left out.
Correction correction(const Profile& profile, const GemmProblem& p, TableRow without) {
  struct Candidate {
    double distance;
    TableRow at;
  };
  std::vector<Candidate> near;
  for (const GemmTable& table : profile.gemm_tables) {
    for (const GemmRow& row : table.rows) {
      if (!same_kind(table, row, p)) continue;
      const double d = distance(p, row);
      if (without.row != nullptr && d == 0.0) continue;
      near.push_back({d, {&table, &row}});
    }
  }
  const std::size_t count = std::min(kNeighbours, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end(),
                    [](const Candidate& a, const Candidate& b) { return a.distance < b.distance; });
  Correction result;
  double weights = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [d, at] = near[i];
    const double model = modelled_gemm_time(profile, problem_of(*at.table, *at.row)).value;
    const double weight = std::exp(-d / kResidualReach);
    result.log_factor += weight * std::log(measured_time(*at.table, *at.row) / model);
    weights += weight;
    if (i == 0) result.source = at.table->source;
  }
  if (count == 0) return {};
  result.log_factor /= weights + kNoCorrection;
  result.weight = weights / (weights + kNoCorrection);
  return result;
}

TableRow exact_row(const Profile& profile, const GemmProblem& p) {
  for (const GemmTable& table : profile.gemm_tables) {
    for (const GemmRow& row : table.rows) {
      if (same_kind(table, row, p) && row.m == p.m && row.n == p.n && row.k == p.k) {
        return {&table, &row};
      }
    }
  }
  return {};
}

}  // namespace

Seconds modelled_gemm_time(const Profile& profile, const GemmProblem& problem) {
  const GemmModel& model = profile.gemm;
  const double drop =
      model.power_drop.value * problem.flops() / (problem.flops() + model.power_flops.value);
  const double rate = full_rate(profile, problem) * (1.0 - drop);
  const double bandwidth = profile.chip.memory_bandwidth.value * model.memory_efficiency.value;
  const double sms = profile.chip.sms.value;
  double best = std::numeric_limits<double>::infinity();
  for (const Tile tile : kTiles) {
    for (const double splits : kSplits) {
      if (splits > 1.0 && (problem.batch > 1.0 || problem.k / splits < kLeastSplitDepth)) continue;
      const double tiles =
          std::ceil(problem.m / tile.m) * std::ceil(problem.n / tile.n) * problem.batch * splits;
      const double x = problem.turns * tiles / sms;
      const double q = model.quantisation.value;
      const double waves = q * std::ceil(x) + (1.0 - q) * std::max(x, model.partial_wave.value);
      best = std::min(best, waves / problem.turns *
                                tile_time(model, problem, splits, tile,
                                          {.flops = rate / sms, .bytes = bandwidth / sms}));
    }
  }
  const double bytes =
      problem.input_bytes() + problem.batch * problem.m * problem.n * problem.output_bytes;
  return {model.fixed.value + std::max(best, bytes / bandwidth)};
}

OpCost gemm_problem_cost(const Profile& profile, const GemmProblem& problem) {
  OpCost cost{.cls = CostClass::gemm};
  if (problem.batch == 1.0 && problem.turns == 1.0 &&
      problem.aligned_bytes >= kTensorCoreAlignment) {
    if (const TableRow hit = exact_row(profile, problem); hit.row != nullptr) {
      cost.time = {measured_time(*hit.table, *hit.row)};
      cost.sigma = hit.table->sigma;
      cost.origin = {Basis::measured, hit.table->source};
      return cost;
    }
  }
  cost.time = modelled_gemm_time(profile, problem);
  cost.sigma = kModelSigma;
  cost.origin = {Basis::modelled, profile.gemm.efficiency.source};
  if (problem.aligned_bytes < kTensorCoreAlignment) {
    cost.origin = {Basis::assumed, profile.alignment_source};
    cost.sigma = 3.0 * kModelSigma;
    return cost;
  }
  if (bits_of(problem.dtype) < 16) {
    const Figure* narrow = narrow_efficiency(profile, problem.dtype);
    cost.origin = narrow != nullptr ? Origin{Basis::modelled, narrow->source}
                                    : Origin{Basis::assumed, profile.gemm.efficiency.source};
    cost.sigma = kModelSigma + (narrow != nullptr ? narrow->sigma : kUnknownNarrowSigma);
    return cost;
  }
  if (problem.batch > 1.0) return cost;
  const Correction near = correction(profile, problem, {});
  if (near.weight > 0.5) cost.origin = {Basis::near, near.source};
  cost.time = cost.time * std::exp(near.log_factor);
  cost.sigma = kModelSigma + (kNearSigma - kModelSigma) * near.weight;
  return cost;
}

OpCost gemm_cost(const Profile& profile, const Shape& shape) {
  OpCost total;
  for (const GemmProblem& problem : gemm_problems(shape)) {
    const OpCost one = gemm_problem_cost(profile, problem);
    const Seconds before = total.time;
    total = one;
    total.time += before;
  }
  return total;
}

std::vector<double> gemm_leave_one_out(const Profile& profile, double min_dimension) {
  std::vector<double> errors;
  for (const GemmTable& table : profile.gemm_tables) {
    for (const GemmRow& row : table.rows) {
      if (std::min({row.m, row.n, row.k}) < min_dimension) continue;
      const GemmProblem problem = problem_of(table, row);
      const double predicted = modelled_gemm_time(profile, problem).value *
                               std::exp(correction(profile, problem, {&table, &row}).log_factor);
      errors.push_back(std::log(predicted / measured_time(table, row)));
    }
  }
  return errors;
}

}  // namespace windtunnel
