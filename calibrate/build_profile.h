#pragma once
// From samples to a profile.
//
// Every time is first brought to one speed of the machine: multiplied by the ratio of the anchors
// around it to the reference, the median of all anchors. Then each shape's mean is its price, and
// each kernel's shapes are fitted (fit/work_fit.h), with the error on held-out ones (held_out.h).
//
// Sigmas: of a measured shape, its repetitions and half of what the anchors moved while it was
// measured, at least 1 %; what all costs of a class share, how far the anchors around its
// samples moved.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/measure/program_shapes.h"
#include "calibrate/profile_parts.h"
#include "calibrate/sample.h"
#include "models/cost/profile.h"

namespace windtunnel {

/// Key of the fingerprint: between which ranks transfers were measured; left out: ranks that
/// compute.
inline constexpr const char* kTransfers = "transfers";

struct ProfileFacts {
  std::string id, date;
  std::vector<std::pair<std::string, std::string>> fingerprint;
  double memory_bytes = 0.0;  // of the machine
  std::uint64_t seed = 1;     // chooses what is held out
  /// The machine's speed at which times are stated; none: the median of the samples' anchors.
  std::optional<AnchorRates> rates{};
  CalibratedNetwork network{};
};

/// `wanted`: kernels of the scenarios; those not measured are listed under `extrapolated`, and the
/// noise is theirs.
/// Precondition: at least one sample of a kernel.
Profile build_profile(std::span<const Sample> samples, std::span<const ShapeUse> wanted,
                      const ProfileFacts& facts);

/// `profile`, a calibration, with the transfers of `samples` instead of its own, as they were
/// measured, and no interference between these and kernels: what a run with emulated compute has.
Profile with_transfers(Profile profile, std::span<const Sample> samples, const std::string& id,
                       const CalibratedNetwork& network);

}  // namespace windtunnel
