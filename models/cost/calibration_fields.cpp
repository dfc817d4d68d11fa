#include "models/cost/calibration_fields.h"

#include <cmath>

#include "models/cost/profile_names.h"
#include "models/cost/shape_attributes.h"

namespace windtunnel {

namespace {

using Kind = LocatedJson::Kind;

constexpr double kMostTheft = 8.0;           // the engine's range (sim/engine/step_costs.h)
constexpr double kLargestDimension = 1e15;   // exact as a double, far above any tensor
constexpr std::size_t kMostAttributes = 16;  // there are 16 bits

const std::vector<std::string_view>& kernel_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const KernelRow& row : kernel_table()) all.emplace_back(row.name);
    return all;
  }();
  return names;
}

std::uint16_t read_attributes(ProfileFields& in, const LocatedJson& list) {
  std::uint16_t bits = kAttrNone;
  if (list.items.size() > kMostAttributes) in.note(list, "more attributes than there are");
  for (const LocatedJson& item : list.items) {
    std::uint16_t found = 0;
    for (const auto& [bit, name] : kShapeAttributeNames) {
      if (item.kind == Kind::text && item.text == name) found = bit;
    }
    if (found != 0) {
      bits |= found;
      continue;
    }
    std::vector<std::string_view> known;
    for (const auto& [bit, name] : kShapeAttributeNames) known.push_back(name);
    in.note(item, "unknown attribute of a shape", "known: " + join_names(known));
  }
  return bits;
}

ShapeDims read_dims(ProfileFields& in, const LocatedJson& list) {
  ShapeDims dims{};
  if (list.items.size() > dims.size()) in.note(list, "a shape has at most 7 dims");
  for (std::size_t i = 0; i < list.items.size() && i < dims.size(); ++i) {
    const double value = in.item(list, i, Range::not_negative);
    if (value != std::floor(value) || value > kLargestDimension) {
      in.note(list.items[i], "a dim is a whole number up to 1e15");
      continue;
    }
    dims[i] = static_cast<std::int64_t>(value);
  }
  return dims;
}

void read_measured(ProfileFields& in, const LocatedJson& row, Calibration& into) {
  in.allow(row, {"kernel", "in", "out", "attr", "dims", "seconds", "sigma", "samples"});
  MeasuredShape shape;
  shape.kernel = named<Kernel>(in, row, "kernel", kernel_names()).value_or(Kernel::none);
  shape.in = named<Dtype>(in, row, "in", enum_names(Dtype::field)).value_or(Dtype::none);
  shape.out = named<Dtype>(in, row, "out", enum_names(Dtype::field)).value_or(Dtype::none);
  shape.attr = read_attributes(in, in.member(row, "attr", Kind::list));
  shape.dims = read_dims(in, in.member(row, "dims", Kind::list));
  const MeasuredCost cost{.seconds = in.number(row, "seconds", Range::positive),
                          .sigma = in.number(row, "sigma", Range::not_negative),
                          .samples = in.count(row, "samples")};
  if (!into.measured.emplace(shape, cost).second) in.note(row, "this shape stands twice");
}

FittedRange read_range(ProfileFields& in, const LocatedJson& row, std::string_view key) {
  const LocatedJson& list = in.member(row, key, Kind::list);
  if (list.line == 0) return {};
  const FittedRange range{.least = in.item(list, 0, Range::not_negative),
                          .most = in.item(list, 1, Range::not_negative)};
  if (list.items.size() != 2 || range.least > range.most) in.note(list, "a range is [least, most]");
  return range;
}

void read_kernel(ProfileFields& in, const LocatedJson& row, Calibration& into) {
  in.allow(row, {"kernel", "in", "fixed_s", "seconds_per_flop", "seconds_per_byte", "error", "p90",
                 "flops", "bytes", "samples"});
  const auto kernel = named<Kernel>(in, row, "kernel", kernel_names());
  const auto dtype = named<Dtype>(in, row, "in", enum_names(Dtype::field));
  const KernelCost cost{.fixed_s = in.number(row, "fixed_s", Range::not_negative),
                        .seconds_per_flop = in.number(row, "seconds_per_flop", Range::not_negative),
                        .seconds_per_byte = in.number(row, "seconds_per_byte", Range::not_negative),
                        .error = in.number(row, "error", Range::not_negative),
                        .p90 = in.number(row, "p90", Range::not_negative),
                        .flops = read_range(in, row, "flops"),
                        .bytes = read_range(in, row, "bytes"),
                        .samples = in.count(row, "samples")};
  if (!kernel || !dtype) return;
  if (!into.kernels.emplace(KernelKey{*kernel, *dtype}, cost).second) {
    in.note(row, "this kernel and type stand twice");
  }
}

double read_theft(ProfileFields& in, const LocatedJson& map, std::string_view key) {
  const double theft = in.number(map, key, Range::not_negative);
  if (theft > kMostTheft) in.note(map, "'" + std::string(key) + "' is at most 8");
  return theft;
}

OverlapFigures read_overlap(ProfileFields& in, const LocatedJson& map) {
  in.allow(map, {"compute_beside_collective", "collective_beside_compute"});
  OverlapFigures overlap{
      .compute_beside_collective = {},
      .collective_beside_compute = read_theft(in, map, "collective_beside_compute")};
  const LocatedJson& by_class = in.member(map, "compute_beside_collective", Kind::map);
  in.allow(by_class, {"gemm", "attention", "memory"});
  for (const KernelClass cls : {KernelClass::gemm, KernelClass::attention, KernelClass::memory}) {
    const char* const name = name_of(cost_class_of(cls));
    if (by_class.find(name) != nullptr) {
      overlap.compute_beside_collective[cls] = read_theft(in, by_class, name);
    }
  }
  return overlap;
}

/// A count that may be 0.
int count_from_zero(ProfileFields& in, const LocatedJson& row, std::string_view key) {
  const double value = in.number(row, key, Range::not_negative);
  return value > 0.0 ? in.count(row, key) : 0;
}

FitQuality read_quality(ProfileFields& in, const LocatedJson& row) {
  in.allow(row, {"of", "mape", "p90", "samples", "held_out"});
  return {.name = in.text(row, "of"),
          .mape = in.number(row, "mape", Range::not_negative),
          .p90 = in.number(row, "p90", Range::not_negative),
          .samples = in.count(row, "samples"),
          .held_out = count_from_zero(in, row, "held_out")};
}

std::vector<std::string> read_lines(ProfileFields& in, const LocatedJson& root,
                                    std::string_view key) {
  std::vector<std::string> lines;
  for (const LocatedJson& line : in.member(root, key, Kind::list).items) {
    if (line.kind != Kind::text) in.note(line, "must be a text");
    lines.push_back(line.text);
  }
  return lines;
}

void read_account(ProfileFields& in, const LocatedJson& root, Calibration& into) {
  for (const LocatedJson& row : in.member(root, "quality", Kind::list).items) {
    into.quality.push_back(read_quality(in, row));
  }
  into.extrapolated = read_lines(in, root, "extrapolated");
  if (root.find("slow") != nullptr) into.slow = read_lines(in, root, "slow");
  for (const auto& [key, value] : in.member(root, "fingerprint", Kind::map).members) {
    if (value.kind != Kind::text) in.note(value, "must be a text");
    into.fingerprint.emplace_back(key, value.text);
  }
}

}  // namespace

Calibration read_calibration(ProfileFields& in, const LocatedJson& root) {
  Calibration result;
  const LocatedJson& anchors = in.member(root, "anchors", Kind::map);
  in.allow(anchors, {"flops_per_s", "bytes_per_s", "source"});
  result.anchors = {.flops_per_s = in.number(anchors, "flops_per_s", Range::positive),
                    .bytes_per_s = in.number(anchors, "bytes_per_s", Range::positive)};
  result.source = in.source(anchors, "source");
  for (const LocatedJson& row : in.member(root, "measured", Kind::list).items) {
    read_measured(in, row, result);
  }
  const LocatedJson& kernels = in.member(root, "kernels", Kind::list);
  for (const LocatedJson& row : kernels.items) read_kernel(in, row, result);
  if (root.find("noise")) result.noise = in.number(root, "noise", Range::not_negative);
  if (result.noise > kLargestNoise) in.note(root, "'noise' is a relative deviation: at most 100");
  if (root.find("drift")) result.drift = in.number(root, "drift", Range::not_negative);
  if (const LocatedJson* overlap = root.find("overlap")) {
    if (overlap->kind != Kind::map) in.note(*overlap, "'overlap' must be a map");
    result.overlap = read_overlap(in, *overlap);
  }
  if (const LocatedJson* storage = root.find("storage")) {
    in.allow(*storage, {"write", "read"});
    result.storage = StorageFigures{.write = in.figure(*storage, "write", Range::positive),
                                    .read = in.figure(*storage, "read", Range::positive)};
  }
  read_account(in, root, result);
  return result;
}

}  // namespace windtunnel
