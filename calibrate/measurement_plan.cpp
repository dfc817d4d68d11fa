#include "calibrate/measurement_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/counter_random.h"
#include "models/cost/calibration.h"

namespace windtunnel {

namespace {

constexpr double kLeastExponent = -2.0, kMostExponent = 1.0;
constexpr std::array<double, 4> kGolden = {0.0, 1.6180339887498949, 1.3247179572447460,
                                           1.2207440846057596};  // by number of dimensions
constexpr std::int64_t kGrain = 8;  // sizes of tensors are multiples of it but for the smallest

/// Dimensions of a kernel that may take any size by themselves.
std::vector<std::size_t> free_dims(const Shape& s) {
  switch (row_of(s.kernel).cls) {
    case KernelClass::attention:
      // Queries and keys of the whole sequence go together.
      return (s.attr & kWholeKeys) != 0 ? std::vector<std::size_t>{0, 4}
                                        : std::vector<std::size_t>{0, 1, 4};
    case KernelClass::gemm:
      if (s.kernel > Kernel::gemm_wgrad) return {0, 1, 4};  // products of unfused attention
      return s.dims[4] > 0 ? std::vector<std::size_t>{0} : std::vector<std::size_t>{0, 1, 2};
    default:
      break;
  }
  switch (s.kernel) {
    case Kernel::embedding_fwd:
    case Kernel::embedding_bwd:
      return {0, 1, 2};
    case Kernel::dropout_fwd:
    case Kernel::dropout_bwd:
      if ((s.attr & kAttentionDropout) != 0) return {};  // rows and columns are tied to the heads
      return {0, 1};
    case Kernel::clip_coefficient:
      return {};
    case Kernel::load_tokens:
    case Kernel::load_labels:
    case Kernel::rope_fwd:
    case Kernel::rope_bwd:
    case Kernel::latent_heads_fwd:
    case Kernel::latent_heads_bwd:
    case Kernel::ce_loss:
    case Kernel::merge_attention:
    case Kernel::columns_to_blocks:
    case Kernel::blocks_to_columns:
    case Kernel::rows_to_sequence:
    case Kernel::sequence_to_rows:
    case Kernel::sum_squares:
    case Kernel::adamw:
    case Kernel::sgd:
      return {0};
    default:
      break;
  }
  const bool flat = s.kernel >= Kernel::add && s.kernel <= Kernel::accumulate;
  return flat ? std::vector<std::size_t>{0} : std::vector<std::size_t>{0, 1};
}

std::int64_t scaled(std::int64_t size, double exponent) {
  const double wanted = static_cast<double>(size) * std::exp2(exponent);
  if (wanted < 2.0 * kGrain) return std::max<std::int64_t>(1, std::llround(wanted));
  return std::llround(wanted / kGrain) * kGrain;
}

std::int64_t elements_of(const Shape& shape) {
  std::int64_t sum = 0;
  for (const KernelOperand& o : operands_of(shape).all) sum += o.same_as < 0 ? o.elements : 0;
  return std::max<std::int64_t>(1, sum);
}

/// Traffic goes with the operands' elements.
std::int64_t scaled_bytes(std::int64_t bytes, const Shape& from, const Shape& to) {
  return std::llround(static_cast<double>(bytes) * static_cast<double>(elements_of(to)) /
                      static_cast<double>(elements_of(from)));
}

bool is_loss(Kernel kernel) {
  return kernel >= Kernel::ce_max && kernel <= Kernel::ce_bwd;
}

/// Point `number` of a kernel's grid, from one of its scenario shapes.
PlannedKernel grid_point(const PlannedKernel& base, int number, std::uint64_t seed) {
  PlannedKernel point = base;
  point.needed = false;
  Shape& shape = point.task.shape;
  const std::vector<std::size_t> dims = free_dims(shape);
  double alpha = 1.0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    alpha /= kGolden[dims.size()];
    const double offset =
        to_unit_interval(counter_hash(seed, static_cast<std::uint64_t>(shape.kernel), i));
    const double u = offset + number * alpha;
    const double exponent = kLeastExponent + (kMostExponent - kLeastExponent) * (u - std::floor(u));
    shape.dims[dims[i]] = scaled(shape.dims[dims[i]], exponent);
  }
  shape.bytes_read = scaled_bytes(shape.bytes_read, base.task.shape, shape);
  shape.bytes_written = scaled_bytes(shape.bytes_written, base.task.shape, shape);
  if (is_loss(shape.kernel)) {  // columns beyond the vocabulary would be padding: no work
    point.task.job.vocab = shape.dims[1] * std::max<std::int64_t>(1, shape.dims[3]);
  }
  return point;
}

struct Candidate {
  PlannedKernel planned;
  double rough_seconds = 0.0;
};

std::vector<Candidate> candidates_of(std::span<const Program> programs) {
  std::map<MeasuredShape, Candidate> all;
  for (const Program& program : programs) {
    const ProgramShapes shapes = list_shapes(program);
    for (const ShapeUse& use : shapes.kernels) {
      Candidate& c = all[measured_shape(use.shape)];
      c.rough_seconds += use.rough_seconds;
      if (c.planned.touched_bytes >= shapes.touched_bytes) continue;
      c.planned.task = {.shape = use.shape, .job = program.job};
      c.planned.touched_bytes = shapes.touched_bytes;
    }
  }
  std::vector<Candidate> ordered;
  for (const auto& [shape, candidate] : all) ordered.push_back(candidate);
  std::stable_sort(ordered.begin(), ordered.end(), [](const Candidate& a, const Candidate& b) {
    return a.rough_seconds > b.rough_seconds;
  });
  return ordered;
}

bool is_too_much(const Shape& shape, const Limits& limits) {
  // At most eight bytes an element.
  return rough_seconds(shape) > limits.rough_seconds || elements_of(shape) > limits.bytes / 8;
}

/// Halved in every free dimension until it is within the limits, or cannot be halved.
PlannedKernel shrunk(PlannedKernel planned, const Limits& limits) {
  while (is_too_much(planned.task.shape, limits)) {
    const Shape before = planned.task.shape;
    Shape& shape = planned.task.shape;
    for (const std::size_t d : free_dims(before)) shape.dims[d] = scaled(shape.dims[d], -1.0);
    shape.bytes_read = scaled_bytes(before.bytes_read, before, shape);
    shape.bytes_written = scaled_bytes(before.bytes_written, before, shape);
    if (shape == before) break;
  }
  return planned;
}

std::vector<PlannedKernel> scenario_order(const std::vector<Candidate>& candidates,
                                          const Limits& limits) {
  std::set<KernelKey> seen;
  std::set<MeasuredShape> taken;
  std::vector<PlannedKernel> first, rest;
  for (const Candidate& c : candidates) {
    const Shape& shape = c.planned.task.shape;
    PlannedKernel planned = shrunk(c.planned, limits);
    if (is_too_much(planned.task.shape, limits)) continue;
    if (!taken.insert(measured_shape(planned.task.shape)).second) continue;
    planned.needed = seen.insert({shape.kernel, shape.in}).second;
    (planned.needed ? first : rest).push_back(planned);
  }
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

std::vector<PlannedKernel> grid_of(const std::vector<PlannedKernel>& scenario,
                                   const PlanOptions& options) {
  std::map<KernelKey, std::vector<PlannedKernel>> bases;
  std::vector<KernelKey> order;  // the dearest kernel first
  std::set<MeasuredShape> taken;
  for (const PlannedKernel& p : scenario) {
    const KernelKey key{p.task.shape.kernel, p.task.shape.in};
    if (!bases.contains(key)) order.push_back(key);
    bases[key].push_back(p);
    taken.insert(measured_shape(p.task.shape));
  }
  std::vector<PlannedKernel> grid;
  for (int n = 0; n < options.points; ++n) {
    for (const KernelKey& key : order) {
      const std::vector<PlannedKernel>& shapes = bases[key];
      const PlannedKernel point =
          grid_point(shapes[static_cast<std::size_t>(n) % shapes.size()], n, options.seed);
      const Shape& shape = point.task.shape;
      if (is_too_much(shape, options.of_point)) continue;
      if (taken.insert(measured_shape(shape)).second) grid.push_back(point);
    }
  }
  return grid;
}

std::vector<TransferUse> transfers_of(std::span<const Program> programs) {
  using Groups = std::vector<std::vector<int>>;
  std::map<std::tuple<CommKind, Dtype, std::int64_t, Groups>, TransferUse> all;
  for (const Program& program : programs) {
    for (const TransferUse& use : list_shapes(program).transfers) {
      all.try_emplace({use.kind, use.dtype, use.elements, use.groups}, use);
    }
  }
  std::vector<TransferUse> ordered;
  for (const auto& [key, use] : all) ordered.push_back(use);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.rough_seconds > b.rough_seconds; });
  return ordered;
}

}  // namespace

MeasurementPlan plan_measurements(std::span<const Program> programs, const PlanOptions& options) {
  MeasurementPlan plan{.scenario = scenario_order(candidates_of(programs), options.of_scenario),
                       .transfers = transfers_of(programs)};
  plan.grid = grid_of(plan.scenario, options);
  return plan;
}

}  // namespace windtunnel
