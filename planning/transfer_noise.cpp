#include "planning/transfer_noise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "core/check.h"
#include "program/mesh.h"

namespace windtunnel {

namespace {

constexpr double kMostDeviation = 0.25;  // the engine's range (sim/engine/step_costs.h)
constexpr double kReach = 8.0;           // of the integral, in standard deviations
constexpr int kSteps = 4000;

double normal_below(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2.0;
}

}  // namespace

LargestDraw largest_draw(int n) {
  CHECK(n > 1, "the largest of several");
  // Density n phi(x) Phi(x)^(n-1); the trapezoidal rule is exact to rounding for such functions.
  constexpr double step = 2.0 * kReach / kSteps;
  double mean = 0.0, square = 0.0;
  for (int i = 0; i <= kSteps; ++i) {
    const double x = -kReach + i * step;
    const double phi = std::exp(-x * x / 2.0) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    const double weight = n * phi * std::pow(normal_below(x), n - 1) * step;
    mean += weight * x;
    square += weight * x * x;
  }
  return {.mean = mean, .variance = square - mean * mean};
}

TransferNoise drawn_noise(const CallNoise& measured, int members) {
  TransferNoise drawn;
  double of_members = 0.0;  // variance of the last end by the members' own draws
  if (members > 1 && measured.early > 0.0) {
    const LargestDraw last = largest_draw(members);
    const double most = kMostDeviation * last.mean;
    drawn.early = std::min(measured.early, most / (1.0 + most));
    drawn.member = std::min(kMostDeviation, drawn.early / ((1.0 - drawn.early) * last.mean));
    const double deviation = (1.0 - drawn.early) * drawn.member;
    of_members = deviation * deviation * last.variance;
  }
  const double rest = measured.sigma * measured.sigma - of_members;
  drawn.group = std::min(kMostDeviation, std::sqrt(std::max(0.0, rest)));
  return drawn;
}

std::vector<TransferNoise> transfer_noise(const Program& program, const PricedProgram& priced) {
  const bool some = std::any_of(priced.items.begin(), priced.items.end(), [](const PricedItem& i) {
    return i.cost.noise.sigma > 0.0 || i.cost.noise.early > 0.0;
  });
  std::vector<TransferNoise> noise;
  if (!some) return noise;
  noise.resize(program.ops.size());
  std::map<std::pair<std::uint32_t, int>, TransferNoise> known;  // item, members
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    const std::uint32_t item = priced.item_of_op[op];
    if (item == kNone) continue;
    const Op& o = program.ops[op];
    const int members =
        o.kind == OpKind::collective ? group_size(program.mesh, program.comms[o.comm]) : 1;
    const auto [place, is_new] = known.try_emplace({item, members});
    if (is_new) place->second = drawn_noise(priced.items[item].cost.noise, members);
    noise[op] = place->second;
  }
  return noise;
}

}  // namespace windtunnel
