#include "planning/transfer_noise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/check.h"
#include "program/mesh.h"

namespace windtunnel {

namespace {

constexpr int kUniforms = 4;
constexpr int kSteps = 4000;  // of the integral over the sum of the uniforms

/// sum over k of (-1)^k C(4, k) max(0, x - k)^power.
double spline(double x, int power) {
  constexpr double kBinomials[] = {1, -4, 6, -4, 1};
  double sum = 0.0;
  for (int k = 0; k <= kUniforms && k < x; ++k) sum += kBinomials[k] * std::pow(x - k, power);
  return sum;
}

/// All stages of a communicator end together in the engine.
int drawing_members(const Mesh& mesh, const Comm& comm) {
  Comm of_stage = comm;
  of_stage.axes &= static_cast<std::uint8_t>(~kAxisPp);
  of_stage.stage_pair = -1;
  return of_stage.axes == 0 ? 1 : group_size(mesh, of_stage);
}

}  // namespace

LargestDraw largest_draw(int n) {
  CHECK(n > 1, "the largest of several");
  // With density f and distribution F of the sum, the largest has density n f F^(n-1). The
  // trapezoidal rule: the integrand and its slope are 0 at both ends but for F(4) = 1, f(4) = 0.
  constexpr double step = static_cast<double>(kUniforms) / kSteps;
  const double unit = std::sqrt(12.0 / kUniforms);  // a sum's deviations
  double mean = 0.0, square = 0.0;
  for (int i = 1; i < kSteps; ++i) {
    const double sum = i * step;
    const double density = spline(sum, 3) / 6.0;
    const double below = std::min(1.0, spline(sum, 4) / 24.0);
    const double weight = n * density * std::pow(below, n - 1) * step;
    const double z = (sum - kUniforms / 2.0) * unit;
    mean += weight * z;
    square += weight * z * z;
  }
  return {.mean = mean, .variance = square - mean * mean};
}

TransferNoise drawn_noise(const CallNoise& measured, int members) {
  TransferNoise drawn;
  double of_members = 0.0;  // variance of the last end by the members' own draws
  if (members > 1 && measured.early > 0.0) {
    const LargestDraw last = largest_draw(members);
    const double most = kMostNoise * last.mean;
    const double by_chance = measured.sigma * last.mean / std::sqrt(last.variance);
    drawn.early = std::min({measured.early, by_chance, most / (1.0 + most)});
    drawn.member = std::min(kMostNoise, drawn.early / ((1.0 - drawn.early) * last.mean));
    const double deviation = (1.0 - drawn.early) * drawn.member;
    of_members = deviation * deviation * last.variance;
  }
  const double rest = measured.sigma * measured.sigma - of_members;
  drawn.group = std::min(kMostNoise, std::sqrt(std::max(0.0, rest)));
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
        o.kind == OpKind::collective ? drawing_members(program.mesh, program.comms[o.comm]) : 1;
    const auto [place, is_new] = known.try_emplace({item, members});
    if (is_new) place->second = drawn_noise(priced.items[item].cost.noise, members);
    noise[op] = place->second;
  }
  return noise;
}

}  // namespace windtunnel
