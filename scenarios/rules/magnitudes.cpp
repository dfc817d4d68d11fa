#include <fmt/format.h>

#include <algorithm>

#include "scenarios/rules/rules.h"
#include "scenarios/scenario_place.h"

namespace windtunnel {

namespace {

/// A product of sizes that a program counts in 64 bits: `value` in doubles, against the limit.
struct Magnitude {
  const char* key;
  const char* what;
  double value, most;
};

/// Half of 2^63, so that a sum of two still fits.
constexpr double kMostBytes = 4.6e18;
/// Program ops keep layers, chunks and stages in 16 bits.
constexpr double kMostLayers = 32'000;
constexpr double kMostDevices = 1e8;
constexpr double kWidestElement = 8.0;  // bytes

}  // namespace

std::vector<Diagnostic> check_magnitudes(const Scenario& s) {
  const Model& m = s.model;
  const double sequence = static_cast<double>(s.batch.sequence);
  const double tokens = static_cast<double>(s.batch.micro) * sequence;
  const double widest = static_cast<double>(
      std::max({m.hidden, m.ffn, m.vocab, m.heads * m.head_dim, m.moe ? m.moe->ffn : 0}));
  const double layers = static_cast<double>(m.layers + m.mtp_layers);
  const double scores = tokens * sequence * static_cast<double>(m.heads);
  const Magnitude magnitudes[] = {
      {"cluster.nodes", "devices", static_cast<double>(s.cluster.devices()), kMostDevices},
      {"model.layers", "layers", layers, kMostLayers},
      {"plan.pp", "pipeline stages", static_cast<double>(s.plan.pp), kMostLayers},
      {"plan.schedule.virtual_stages", "virtual stages",
       static_cast<double>(s.plan.schedule.virtual_stages.value_or(1)), kMostLayers},
      {"batch.micro", "bytes of the widest activation", tokens * widest * kWidestElement,
       kMostBytes},
      {"batch.sequence", "bytes of the attention scores", scores * kWidestElement, kMostBytes},
      {"batch.global", "tokens of a step", static_cast<double>(s.batch.global) * sequence,
       kMostBytes},
  };
  std::vector<Diagnostic> problems;
  for (const Magnitude& size : magnitudes) {
    if (size.value <= size.most) continue;
    problems.push_back(
        diagnostic_at(s, size.key,
                      fmt::format("{:.5g} {} are more than the {:.5g} that can be counted",
                                  size.value, size.what, size.most),
                      ""));
  }
  return problems;
}

}  // namespace windtunnel
