#include "planning/require_prices.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "models/cost/calibrated_cost.h"
#include "models/cost/peak_rate.h"
#include "scenarios/scenario_place.h"

namespace windtunnel {

namespace {

[[noreturn]] void refuse(const Scenario& s, const char* key, std::string message,
                         std::string hint) {
  throw InputError({diagnostic_at(s, key, std::move(message), std::move(hint))});
}

void require_kernels(const Scenario& s, const Program& program, const Profile& profile) {
  std::set<std::string> missing;
  for (const Shape& shape : program.shapes) {
    if (is_calibrated(*profile.calibration, shape)) continue;
    std::string name = name_of(shape.kernel);
    if (shape.in != Dtype::none) name += fmt::format(" of {}", name_of(shape.in));
    missing.insert(std::move(name));
  }
  if (missing.empty()) return;
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
  refuse(s, "profile", fmt::format("the profile has no time of {}", names),
         "windtunnel calibrate --for this scenario; a calibrated CPU computes in fp32 "
         "(plan.precision.compute)");
}

/// "fp32, bf16, fp8"
std::string rated_types(const Profile& profile) {
  std::string names;
  for (const Dtype dtype :
       {Dtype::fp32, Dtype::fp16, Dtype::bf16, Dtype::fp8, Dtype::mxfp8, Dtype::nvfp4}) {
    if (has_peak_rate(profile, dtype))
      names += (names.empty() ? "" : ", ") + std::string(name_of(dtype));
  }
  return names;
}

bool has_transfers(const Program& program) {
  if (program.mesh.ranks() <= 1) return false;
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::collective || op.kind == OpKind::send) return true;
  }
  return false;
}

}  // namespace

void require_kernel_prices(const Lowered& lowered, const Profile& profile) {
  const Scenario& s = lowered.resolved.scenario;
  if (profile.calibration) return require_kernels(s, lowered.program, profile);
  const Dtype compute = lowered.resolved.plan.compute;
  if (has_peak_rate(profile, compute)) return;
  refuse(s, "plan.precision.compute",
         fmt::format("the profile of {} has no rate of {} products", s.cluster.device,
                     name_of(compute)),
         "compute: one of " + rated_types(profile));
}

void require_prices(const Lowered& lowered, const Profile& profile) {
  const Scenario& s = lowered.resolved.scenario;
  require_kernel_prices(lowered, profile);
  if (!profile.calibration || !profile.curves.empty() || !has_transfers(lowered.program)) return;
  refuse(s, "profile", "the profile has no time of transfers between ranks",
         "a calibration with several ranks measures them");
}

}  // namespace windtunnel
