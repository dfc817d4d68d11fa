#include "calibrate/measure/anchor.h"

#include <array>
#include <cstring>

#include "calibrate/fit/robust.h"
#include "calibrate/measure/stopwatch.h"

namespace windtunnel {

namespace {

constexpr std::size_t kNumbers = 2048;  // 8 KiB: a quarter of the smallest first cache in use
constexpr int kSteps = 16;              // per load: arithmetic is the limit
constexpr int kRounds = 256;            // 17 MFLOP, one to three milliseconds
constexpr double kFlops = 2.0 * kNumbers * kSteps * kRounds;
constexpr std::size_t kCopied = std::size_t{32} << 20U;

}  // namespace

Anchor::Anchor() : numbers_(kNumbers, 1.0F), from_(kCopied, 1), to_(kCopied, 2) {
  compute_pass();
  memory_pass();
}

double Anchor::compute_pass() {
  // Read at run time, so that the result is not known when this is compiled; x stays near 1.
  volatile float factor = 0.75F, offset = 0.25F;
  const float a = factor, b = offset;
  const double begin = clock_seconds();
  for (int round = 0; round < kRounds; ++round) {
    for (float& number : numbers_) {
      float x = number;
      for (int step = 0; step < kSteps; ++step) x = x * a + b;
      number = x;
    }
  }
  const double end = clock_seconds();
  volatile float used = numbers_[kNumbers / 2];
  static_cast<void>(used);
  return kFlops / (end - begin);
}

double Anchor::memory_pass() {
  const double begin = clock_seconds();
  std::memcpy(to_.data(), from_.data(), kCopied);
  const double end = clock_seconds();
  volatile char used = to_[kCopied / 2];
  static_cast<void>(used);
  return 2.0 * static_cast<double>(kCopied) / (end - begin);
}

AnchorRates Anchor::measure() {
  std::array<double, 3> compute{}, memory{};
  for (double& rate : compute) rate = compute_pass();
  for (double& rate : memory) rate = memory_pass();
  return {.flops_per_s = median(compute), .bytes_per_s = median(memory)};
}

}  // namespace windtunnel
