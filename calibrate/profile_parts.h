#pragma once
// The parts of a profile that samples become, each by itself. Samples are at reference speed.

#include <map>
#include <span>
#include <vector>

#include "calibrate/measure/program_shapes.h"
#include "calibrate/sample.h"
#include "models/cost/profile.h"

namespace windtunnel {

/// The network between nodes, as the scenarios state it.
struct CalibratedNetwork {
  NetworkType type = NetworkType::none;
  double nic_bandwidth = 0.0;  // B/s
};

/// The noise that half the time of a step's kernels has at most (`uses`: how often each runs): an
/// interruption of one kernel's few runs says nothing of the others. 0 when none was measured.
double noise_of(std::span<const Sample> samples, std::span<const ShapeUse> uses);

/// How far the faster tenth of an anchor's rates lies above the slower tenth, relative; of the
/// anchor that moved more.
double drift_of(std::span<const Sample> samples);

/// The median of all anchors.
AnchorRates reference_rates(std::span<const Sample> samples);

/// The samples with `seconds` as they would be at the reference rates.
std::vector<Sample> at_reference(std::span<const Sample> samples, const AnchorRates& reference);

/// Log-normal sigma that the repetitions and the anchors around a sample leave it with.
double sigma_of(const Sample& sample);

/// The error that all costs of a class may share: how far the anchors around its samples moved
/// while they were measured, at most 0.3; 0 of a class without samples.
double shared_sigma(std::span<const Sample> samples, CostClass cls);

/// `measured`, `kernels` and `quality` of the classes of kernels.
struct KernelParts {
  std::map<MeasuredShape, MeasuredCost> measured;
  std::map<KernelKey, KernelCost> kernels;
  std::vector<FitQuality> quality;
};
KernelParts kernels_of(std::span<const Sample> samples, std::uint64_t seed);

/// Best rate of a matrix product, FLOP/s, by input type.
std::map<Dtype, Figure> peak_rates(std::span<const Sample> samples);

std::vector<CollectiveCurve> curves_of(std::span<const Sample> samples,
                                       const CalibratedNetwork& network);
std::map<HostItem, Figure> host_of(std::span<const Sample> samples);
std::optional<OverlapFigures> overlap_of(std::span<const Sample> samples);
std::optional<StorageFigures> storage_of(std::span<const Sample> samples);

}  // namespace windtunnel
