#include "calibrate/fit/curve_fit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/fit/robust.h"
#include "core/check.h"
#include "models/cost/monotone_curve.h"

namespace windtunnel {

CurveFit fit_curve(std::span<const TransferTimes> sizes) {
  CHECK(!sizes.empty(), "a curve needs sizes");
  std::map<double, std::vector<double>> by_size;
  for (const TransferTimes& size : sizes) {
    std::vector<double>& all = by_size[size.bytes];
    all.insert(all.end(), size.seconds.begin(), size.seconds.end());
  }
  std::vector<std::pair<double, double>> medians;
  for (const auto& [bytes, seconds] : by_size) {
    medians.emplace_back(bytes, summarise(seconds).median);
  }
  CurveFit fit{.points = monotone(std::move(medians))};
  std::vector<double> away;  // log of a repetition over the curve
  std::size_t at = 0;
  for (const auto& [bytes, seconds] : by_size) {
    for (const double s : seconds) away.push_back(std::log(s / fit.points[at].second));
    ++at;
  }
  fit.sigma = told_sigma(spread_about(away, 0.0));
  return fit;
}

}  // namespace windtunnel
