#pragma once
// Takes samples one after another, with the anchors between them: the anchors after one sample are
// those before the next.

#include <functional>
#include <optional>
#include <vector>

#include "calibrate/fit/robust.h"
#include "calibrate/measure/anchor.h"
#include "calibrate/sample_file.h"

namespace windtunnel {

class Sampler {
 public:
  /// Both outlive it.
  Sampler(SampleFile& file, Anchor& anchor) : file_(file), anchor_(anchor) {}

  /// Measures unless the file holds the sample. `measure` fills in what was measured; whatever it
  /// throws, nothing is added. True when a sample was taken.
  bool take(const Sample& sample, const std::function<void(Sample&)>& measure);

  bool holds(const Sample& sample) const { return file_.holds(sample); }

  /// Adds samples that were measured together, as launch and synchronize are.
  void take_all(std::vector<Sample> samples,
                const std::function<void(std::vector<Sample>&)>& measure);

 private:
  AnchorRates fresh_rates();

  SampleFile& file_;
  Anchor& anchor_;
  std::optional<AnchorRates> last_;
  double last_at_ = 0.0;
};

/// Median, spread and count of repetitions, into the sample.
void set_times(Sample& sample, const RobustSummary& summary, int runs);

}  // namespace windtunnel
