#include "calibrate/sampler.h"

#include <algorithm>

#include "calibrate/measure/stopwatch.h"

namespace windtunnel {

namespace {

constexpr double kStale = 0.1;  // a machine's speed holds for longer than this

}  // namespace

AnchorRates Sampler::fresh_rates() {
  if (!last_ || clock_seconds() - last_at_ > kStale) last_ = anchor_.measure();
  return *last_;
}

bool Sampler::take(const Sample& sample, const std::function<void(Sample&)>& measure) {
  if (file_.holds(sample)) return false;
  take_all({sample}, [&](std::vector<Sample>& all) { measure(all.front()); });
  return true;
}

void Sampler::take_all(std::vector<Sample> samples,
                       const std::function<void(std::vector<Sample>&)>& measure) {
  const bool all_held =
      std::all_of(samples.begin(), samples.end(), [&](const Sample& s) { return file_.holds(s); });
  if (all_held) return;
  const AnchorRates before = fresh_rates();
  measure(samples);
  const AnchorRates after = anchor_.measure();
  last_ = after;
  last_at_ = clock_seconds();
  for (Sample& s : samples) {
    s.before = before;
    s.after = after;
    file_.add(s);
  }
}

void set_times(Sample& sample, const RobustSummary& summary, int runs) {
  sample.seconds = summary.mean;
  sample.sigma = summary.sigma;
  sample.noise = summary.noise;
  sample.runs = std::max(1, runs);
}

}  // namespace windtunnel
