#pragma once
// One measurement, with the anchors measured just before and just after it.
//
// A sample knows by its key what was measured, so that a calibration that is taken up again does
// not measure it twice. Times are as the clock told them; dividing out the machine's speed is the
// fit's.

#include <cstdint>
#include <string>

#include "models/cost/calibration.h"
#include "models/cost/cost_model.h"
#include "program/program.h"

namespace windtunnel {

enum class SampleKind : std::uint8_t {
  kernel,         // `shape`
  launch,         // handing one op to a stream
  synchronize,    // an idle stream's answer
  storage_write,  // `bytes` to the checkpoint's folder
  storage_read,
  transfer,  // `transfer` of `bytes` among `ranks` of `nodes`
  overlap    // a kernel of `shape` beside `transfer`: `kernel_theft`, `transfer_theft`
};
const char* name_of(SampleKind kind);

struct Sample {
  SampleKind kind = SampleKind::kernel;
  Shape shape{};
  CommKind transfer = CommKind::all_reduce;
  int ranks = 0, nodes = 1;
  std::int64_t bytes = 0;  // as CollectiveQuery counts them
  double seconds = 0.0;    // mean of one run; of an overlap, the kernel's alone
  double sigma = 0.0;      // relative spread of the repetitions, without outliers
  double noise = 0.0;      // of the repetitions, with them: fit/robust.h
  double early = 0.0;      // of a transfer: how long before the last a member ends, mean / seconds
  int runs = 1;
  double kernel_theft = 0.0, transfer_theft = 0.0;  // extra time as a fraction
  AnchorRates before{}, after{};
};

/// The same for two samples exactly when they measure the same.
std::string key_of(const Sample& sample);

/// One line of JSON, without its end.
std::string sample_text(const Sample& sample);

/// What `sample_text` wrote. Throws InputError at `file`:`line`.
Sample parse_sample(const std::string& text, const std::string& file, int line);

}  // namespace windtunnel
