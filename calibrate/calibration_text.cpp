#include "calibrate/calibration_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/check.h"
#include "core/unit_text.h"
#include "program/text_table.h"

namespace windtunnel {

namespace {

constexpr std::size_t kMostLines = 12;  // of what is extrapolated; the file has all

/// "37 GFLOP/s" of a cost per FLOP; "-" of none.
std::string flops_text(double seconds_per_flop) {
  return seconds_per_flop > 0.0 ? format_flops_rate({1.0 / seconds_per_flop}) : "-";
}
std::string bytes_text(double seconds_per_byte) {
  return seconds_per_byte > 0.0 ? format_bandwidth({1.0 / seconds_per_byte}) : "-";
}

std::string head_of(const Profile& p, const Calibration& c) {
  std::string text = fmt::format("{} of {}, {}\n", p.id, p.device, p.date);
  for (const auto& [key, value] : c.fingerprint) text += fmt::format("  {:12} {}\n", key, value);
  text += fmt::format("anchors        {} in the first cache, {} copied\n",
                      format_flops_rate({c.anchors.flops_per_s}),
                      format_bandwidth({c.anchors.bytes_per_s}));
  for (const auto& [item, figure] : p.host) {
    text += fmt::format("{:14} {} +- {}\n", name_of(item), format_seconds({figure.value}),
                        format_percent(figure.sigma));
  }
  text += fmt::format("machine        {}: {}{}\n", was_busy(c) ? "BUSY" : "quiet", quiet_text(c),
                      was_busy(c) ? "; calibrate again when it is idle" : "");
  if (c.storage) {
    text += fmt::format("storage        {} written, {} read\n",
                        format_bandwidth({c.storage->write.value}),
                        format_bandwidth({c.storage->read.value}));
  }
  return text;
}

std::string quality_of(const Profile& p, const Calibration& c) {
  std::string text =
      "\nError of the fits on shapes held out (- where there were too few to hold any out)\n";
  TextTable table({"class", "shapes", "held out", "mean", "90 % within"});
  for (const FitQuality& q : c.quality) {
    const bool tested = q.held_out > 0;
    table.add({q.name, std::to_string(q.samples), std::to_string(q.held_out),
               tested ? format_percent(q.mape) : "-", tested ? format_percent(q.p90) : "-"});
  }
  text += table.text();
  text += "  shared by a class:";
  for (const auto& [cls, sigma] : p.class_sigma) {
    if (sigma.value > 0.0)
      text += fmt::format(" {} {},", name_of(cls), format_percent(sigma.value));
  }
  text.back() = '\n';
  return text;
}

std::string kernels_of(const Calibration& c) {
  std::map<KernelKey, int> measured;
  std::map<KernelKey, double> spread;
  for (const auto& [shape, cost] : c.measured) {
    const KernelKey key{shape.kernel, shape.in};
    ++measured[key];
    spread[key] = std::max(spread[key], cost.sigma);
  }
  std::string text = "\nKernels: fixed time, rates of the fit, its error, shapes measured\n";
  TextTable table(
      {"kernel", "in", "fixed", "arithmetic", "memory", "error", "shapes", "repeats within"});
  for (const auto& [key, k] : c.kernels) {
    table.add({name_of(key.first), name_of(key.second), format_seconds({k.fixed_s}),
               flops_text(k.seconds_per_flop), bytes_text(k.seconds_per_byte),
               format_percent(k.error), std::to_string(measured[key]),
               format_percent(spread[key])});
  }
  return text + table.text();
}

std::string transfers_of(const Profile& p, const Calibration& c) {
  if (p.curves.empty()) return "\nTransfers between ranks: not measured\n";
  std::string text = "\nTransfers between ranks\n";
  TextTable table({"kind", "ranks", "from", "takes", "to", "takes", "sigma"});
  for (const CollectiveCurve& curve : p.curves) {
    const auto& [least, latency] = curve.points.front();
    const auto& [most, longest] = curve.points.back();
    table.add({name_of(curve.kind), std::to_string(curve.ranks), format_bytes({least}),
               format_seconds({latency}), format_bytes({most}), format_seconds({longest}),
               format_percent(curve.sigma)});
  }
  text += table.text();
  if (c.overlap) {
    for (const auto& [cls, share] : c.overlap->compute_beside_collective) {
      text += fmt::format("  {} beside them takes {} longer\n",
                          cls == KernelClass::gemm        ? "a matrix product"
                          : cls == KernelClass::attention ? "attention"
                                                          : "a memory-bound kernel",
                          format_percent(share));
    }
    text += fmt::format("  they take {} longer beside compute\n",
                        format_percent(c.overlap->collective_beside_compute));
  }
  return text;
}

std::string extrapolated_of(const Calibration& c) {
  if (c.extrapolated.empty()) return "\nEvery shape of the scenarios was measured\n";
  std::string text = "\nExtrapolated\n";
  for (std::size_t i = 0; i < std::min(kMostLines, c.extrapolated.size()); ++i) {
    text += "  " + c.extrapolated[i] + "\n";
  }
  if (c.extrapolated.size() > kMostLines) {
    text += fmt::format("  and {} more\n", c.extrapolated.size() - kMostLines);
  }
  return text;
}

std::string slow_of(const Calibration& c) {
  if (c.slow.empty()) return "";
  std::string text = "\nSlow: a step waits for these, and kernels' prices are the first rank's\n";
  for (const std::string& line : c.slow) text += "  " + line + "\n";
  return text;
}

}  // namespace

std::string calibration_text(const Profile& profile) {
  CHECK(profile.calibration.has_value(), "a calibrated profile");
  const Calibration& c = *profile.calibration;
  return head_of(profile, c) + quality_of(profile, c) + kernels_of(c) + transfers_of(profile, c) +
         slow_of(c) + extrapolated_of(c);
}

}  // namespace windtunnel
