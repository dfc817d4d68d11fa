#include "calibrate/build_profile.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "calibrate/profile_parts.h"
#include "core/check.h"
#include "models/cost/calibrated_cost.h"
#include "models/cost/shape_work.h"
#include "program/op_names.h"

namespace windtunnel {

namespace {

bool is_inside(const FittedRange& range, double amount) {
  return amount <= 0.0 || (amount >= range.least && amount <= range.most);
}

std::vector<std::string> extrapolated(const Calibration& c, std::span<const ShapeUse> wanted) {
  std::vector<std::string> lines;
  std::set<MeasuredShape> said;
  for (const ShapeUse& use : wanted) {
    const Shape& shape = use.shape;
    const MeasuredShape key = measured_shape(shape);
    if (c.measured.contains(key) || !said.insert(key).second) continue;
    const auto fit = c.kernels.find({shape.kernel, shape.in});
    if (fit == c.kernels.end()) {
      lines.push_back(text_of(shape) + ": no price");
      continue;
    }
    const ShapeWork work = shape_work(shape);
    const bool inside =
        is_inside(fit->second.flops, work.flops) && is_inside(fit->second.bytes, work.bytes);
    lines.push_back(text_of(shape) +
                    (inside ? ": from the fit" : ": from the fit, beyond what was measured"));
  }
  for (const auto& [key, kernel] : c.kernels) {
    if (kernel.samples > 1) continue;
    lines.push_back(fmt::format("{}: other shapes scale from a single one", name_of(key.first)));
  }
  return lines;
}

}  // namespace

Profile with_transfers(Profile profile, std::span<const Sample> samples, const std::string& id,
                       const CalibratedNetwork& network) {
  CHECK(profile.calibration.has_value(), "kernels are those of a calibration");
  profile.id = id;
  profile.curves = curves_of(samples, network);
  profile.calibration->overlap.reset();
  profile.calibration->fingerprint.emplace_back(kTransfers, "between ranks that rest");
  return profile;
}

Profile build_profile(std::span<const Sample> samples, std::span<const ShapeUse> wanted,
                      const ProfileFacts& facts) {
  CHECK(!samples.empty(), "a profile is made of samples");
  Calibration c{.anchors = facts.rates.value_or(reference_rates(samples)),
                .fingerprint = facts.fingerprint};
  const std::vector<Sample> steady = at_reference(samples, c.anchors);
  KernelParts parts = kernels_of(steady, facts.seed);
  c.measured = std::move(parts.measured);
  c.kernels = std::move(parts.kernels);
  c.quality = std::move(parts.quality);
  c.noise = noise_of(steady, wanted);
  c.drift = drift_of(samples);
  c.overlap = overlap_of(steady);
  c.storage = storage_of(steady);
  c.extrapolated = extrapolated(c, wanted);
  Profile profile{.id = facts.id,
                  .device = "cpu",
                  .kind = "calibrated",
                  .date = facts.date,
                  .stack = "windtunnel runtime"};
  profile.sources = {{"calibration", fmt::format("calibration {}, {}", facts.id, facts.date)}};
  for (const CostClass cls : {CostClass::gemm, CostClass::attention, CostClass::memory,
                              CostClass::host, CostClass::shared_memory, CostClass::network}) {
    profile.class_sigma[cls] = {.value = shared_sigma(samples, cls)};
  }
  profile.memory.usable_bytes = {.value = facts.memory_bytes};
  profile.chip.tensor_flops = peak_rates(steady);
  profile.curves = curves_of(steady, facts.network);
  profile.host = host_of(steady);
  profile.calibration = std::move(c);
  return profile;
}

}  // namespace windtunnel
