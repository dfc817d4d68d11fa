#include "calibrate/profile_parts.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "calibrate/fit/curve_fit.h"
#include "calibrate/fit/held_out.h"
#include "calibrate/fit/robust.h"
#include "calibrate/measure/speed_ratio.h"
#include "models/cost/shape_work.h"

namespace windtunnel {

namespace {

// Of a kernel with too few shapes to hold any out: what kernels with many were off by at worst.
constexpr double kUnknownError = 0.25;
constexpr double kMostShared = 0.3;  // more than this is a machine that cannot be measured on

/// Nothing of what storage does goes with the processor, nor what a network does.
bool follows_anchors(const Sample& s) {
  if (s.kind == SampleKind::transfer && s.nodes > 1) return false;
  return s.kind != SampleKind::storage_write && s.kind != SampleKind::storage_read;
}

Pace pace_of(const Sample& s) {
  switch (s.kind) {
    case SampleKind::kernel:
    case SampleKind::overlap:
      return pace_of(row_of(s.shape.kernel).cls, shape_work(s.shape).bytes);
    case SampleKind::transfer:
      return pace_of(KernelClass::memory, static_cast<double>(s.bytes));
    default:
      return Pace::arithmetic;
  }
}

/// log of what the sample's anchor moved while it was measured; positive: slower.
double moved(const Sample& s) {
  return std::log(speed_ratio(s.after, s.before).of(pace_of(s)));
}

template <class Select>
std::vector<double> chosen(std::span<const Sample> samples, Select select) {
  std::vector<double> values;
  for (const Sample& s : samples) {
    if (const std::optional<double> value = select(s)) values.push_back(*value);
  }
  return values;
}

/// Repeats of one shape, over several calibrations of one file.
MeasuredCost cost_of(const std::vector<const Sample*>& samples) {
  std::vector<double> seconds, sigmas;
  MeasuredCost cost;
  for (const Sample* s : samples) {
    seconds.push_back(s->seconds);
    sigmas.push_back(sigma_of(*s));
    cost.samples += s->runs;
  }
  cost.seconds = median(seconds);
  cost.sigma = median(sigmas);
  return cost;
}

KernelCost kernel_cost(std::span<const WorkSample> work, const FitError& error) {
  const WorkFit fit = fit_work(work);
  const double least = error.held_out > 0 ? 0.0 : kUnknownError;
  return {.fixed_s = fit.fixed_s,
          .seconds_per_flop = fit.seconds_per_flop,
          .seconds_per_byte = fit.seconds_per_byte,
          .error = std::max(least, error.mape()),
          .p90 = std::max(least, error.p90()),
          .flops = fit.flops,
          .bytes = fit.bytes,
          .samples = static_cast<int>(work.size())};
}

CostClass cost_class(const Sample& s) {
  if (s.kind == SampleKind::transfer) {
    return s.nodes > 1 ? CostClass::network : CostClass::shared_memory;
  }
  if (s.kind != SampleKind::kernel) return CostClass::host;
  return cost_class_of(row_of(s.shape.kernel).cls);
}

/// Of each size, over several calibrations the medians.
std::vector<CallNoise> noise_of_points(
    const std::map<double, std::vector<const Sample*>>& samples_of_size) {
  std::vector<CallNoise> noise;
  for (const auto& [bytes, samples] : samples_of_size) {
    std::vector<double> sigmas, early;
    for (const Sample* s : samples) {
      sigmas.push_back(s->noise);
      early.push_back(s->early);
    }
    noise.push_back({.sigma = median(sigmas), .early = median(early)});
  }
  return noise;
}

/// Of the kernels that have held-out shapes; of all when none has.
FitError held_out_of(std::span<const FitError> errors) {
  std::vector<FitError> held;
  for (const FitError& e : errors) {
    if (e.held_out > 0) held.push_back(e);
  }
  return pooled(held.empty() ? errors : std::span<const FitError>(held));
}

}  // namespace

double drift_of(std::span<const Sample> samples) {
  double most = 0.0;
  for (const auto rate : {&AnchorRates::flops_per_s, &AnchorRates::bytes_per_s}) {
    std::vector<double> rates;
    for (const Sample& s : samples) rates.push_back(between(s.before, s.after).*rate);
    if (rates.empty()) continue;
    std::sort(rates.begin(), rates.end());
    const std::size_t tenth = rates.size() / 10;
    most = std::max(most, rates[rates.size() - 1 - tenth] / rates[tenth] - 1.0);
  }
  return most;
}

AnchorRates reference_rates(std::span<const Sample> samples) {
  const auto flops = chosen(samples, [](const Sample& s) {
    return std::optional(between(s.before, s.after).flops_per_s);
  });
  const auto bytes = chosen(samples, [](const Sample& s) {
    return std::optional(between(s.before, s.after).bytes_per_s);
  });
  return {.flops_per_s = median(flops), .bytes_per_s = median(bytes)};
}

std::vector<Sample> at_reference(std::span<const Sample> samples, const AnchorRates& reference) {
  std::vector<Sample> result(samples.begin(), samples.end());
  for (Sample& s : result) {
    if (!follows_anchors(s)) continue;
    s.seconds *= speed_ratio(reference, between(s.before, s.after)).of(pace_of(s));
  }
  return result;
}

double sigma_of(const Sample& s) {
  const double half = follows_anchors(s) ? std::abs(moved(s)) / 2.0 : 0.0;
  return told_sigma(std::hypot(s.sigma, half));
}

double shared_sigma(std::span<const Sample> samples, CostClass cls) {
  std::vector<double> logs;
  for (const Sample& s : samples) {
    if (follows_anchors(s) && cost_class(s) == cls) logs.push_back(moved(s));
  }
  return logs.empty() ? 0.0 : std::min(kMostShared, spread_about(logs, 0.0));
}

KernelParts kernels_of(std::span<const Sample> samples, std::uint64_t seed) {
  std::map<MeasuredShape, std::vector<const Sample*>> by_shape;
  for (const Sample& s : samples) {
    if (s.kind == SampleKind::kernel) by_shape[measured_shape(s.shape)].push_back(&s);
  }
  KernelParts parts;
  std::map<KernelKey, std::vector<WorkSample>> work;
  for (const auto& [shape, repeats] : by_shape) {
    const MeasuredCost cost = cost_of(repeats);
    parts.measured.emplace(shape, cost);
    const ShapeWork w = shape_work(repeats.front()->shape);
    work[{shape.kernel, shape.in}].push_back(
        {.flops = w.flops, .bytes = w.bytes, .seconds = cost.seconds});
  }
  std::map<KernelClass, std::vector<FitError>> errors;
  std::map<KernelClass, int> counts;
  for (const auto& [key, of_kernel] : work) {
    const FitError error = fit_error(of_kernel, seed);
    parts.kernels.emplace(key, kernel_cost(of_kernel, error));
    const KernelClass cls = row_of(key.first).cls;
    errors[cls].push_back(error);
    counts[cls] += static_cast<int>(of_kernel.size());
  }
  for (const auto& [cls, of_class] : errors) {
    const FitError all = held_out_of(of_class);
    parts.quality.push_back({.name = name_of(cost_class_of(cls)),
                             .mape = all.mape(),
                             .p90 = all.p90(),
                             .samples = counts[cls],
                             .held_out = all.held_out});
  }
  return parts;
}

std::map<Dtype, Figure> peak_rates(std::span<const Sample> samples) {
  std::map<Dtype, Figure> peaks;
  for (const Sample& s : samples) {
    if (s.kind != SampleKind::kernel || row_of(s.shape.kernel).cls != KernelClass::gemm) continue;
    const double rate = shape_work(s.shape).flops / s.seconds;
    Figure& peak = peaks[s.shape.in];
    if (rate > peak.value) peak = {.value = rate, .sigma = sigma_of(s)};
  }
  return peaks;
}

double noise_of(std::span<const Sample> samples, std::span<const ShapeUse> uses) {
  std::map<MeasuredShape, double> runs;
  for (const ShapeUse& use : uses) runs[measured_shape(use.shape)] += static_cast<double>(use.runs);
  std::vector<std::pair<double, double>> noises;  // with the seconds of a step that have it
  double step = 0.0;
  for (const Sample& s : samples) {
    if (s.kind != SampleKind::kernel) continue;
    const auto of_step = runs.find(measured_shape(s.shape));
    if (of_step == runs.end()) continue;
    noises.emplace_back(s.noise, of_step->second * s.seconds);
    step += noises.back().second;
  }
  std::sort(noises.begin(), noises.end());
  double passed = 0.0;
  for (const auto& [noise, seconds] : noises) {
    passed += seconds;
    if (2.0 * passed >= step) return noise;
  }
  return 0.0;
}

std::vector<CollectiveCurve> curves_of(std::span<const Sample> samples,
                                       const CalibratedNetwork& network) {
  using Key = std::tuple<CommKind, int, int>;  // kind, ranks, nodes
  std::map<Key, std::vector<TransferTimes>> sizes;
  std::map<Key, std::vector<double>> sigmas;
  std::map<Key, std::map<double, std::vector<const Sample*>>> by_size;
  for (const Sample& s : samples) {
    if (s.kind != SampleKind::transfer) continue;
    sizes[{s.transfer, s.ranks, s.nodes}].push_back(
        {.bytes = static_cast<double>(s.bytes), .seconds = {s.seconds}});
    sigmas[{s.transfer, s.ranks, s.nodes}].push_back(sigma_of(s));
    by_size[{s.transfer, s.ranks, s.nodes}][static_cast<double>(s.bytes)].push_back(&s);
  }
  std::vector<CollectiveCurve> curves;
  for (const auto& [key, of_curve] : sizes) {
    const CurveFit fit = fit_curve(of_curve);
    const auto [kind, ranks, nodes] = key;
    const bool inside = nodes == 1;
    curves.push_back({.kind = kind,
                      .ranks = ranks,
                      .nodes = nodes,
                      .network = inside ? NetworkType::none : network.type,
                      .nic_bandwidth = inside ? 0.0 : network.nic_bandwidth,
                      .sigma = std::max(fit.sigma, median(sigmas[key])),
                      .points = fit.points,
                      .noise = noise_of_points(by_size.at(key))});
  }
  return curves;
}

std::map<HostItem, Figure> host_of(std::span<const Sample> samples) {
  std::map<HostItem, Figure> host;
  for (const auto& [kind, item] : {std::pair(SampleKind::launch, HostItem::kernel_launch),
                                   std::pair(SampleKind::synchronize, HostItem::synchronize)}) {
    for (const Sample& s : samples) {
      if (s.kind == kind) host[item] = {.value = s.seconds, .sigma = sigma_of(s)};
    }
  }
  return host;
}

std::optional<OverlapFigures> overlap_of(std::span<const Sample> samples) {
  std::map<KernelClass, std::vector<double>> compute;
  std::vector<double> transfer;
  for (const Sample& s : samples) {
    if (s.kind != SampleKind::overlap) continue;
    compute[row_of(s.shape.kernel).cls].push_back(s.kernel_theft);
    transfer.push_back(s.transfer_theft);
  }
  if (transfer.empty()) return std::nullopt;
  OverlapFigures overlap{.compute_beside_collective = {},
                         .collective_beside_compute = median(transfer)};
  for (const auto& [cls, thefts] : compute) {
    overlap.compute_beside_collective[cls] = median(thefts);
  }
  return overlap;
}

std::optional<StorageFigures> storage_of(std::span<const Sample> samples) {
  StorageFigures storage;
  for (const Sample& s : samples) {
    const Figure rate{.value = static_cast<double>(s.bytes) / s.seconds, .sigma = sigma_of(s)};
    if (s.kind == SampleKind::storage_write) storage.write = rate;
    if (s.kind == SampleKind::storage_read) storage.read = rate;
  }
  if (storage.write.value <= 0.0 || storage.read.value <= 0.0) return std::nullopt;
  return storage;
}

}  // namespace windtunnel
