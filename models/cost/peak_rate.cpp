#include "models/cost/peak_rate.h"

#include <algorithm>

#include "core/check.h"

namespace windtunnel {

namespace {

/// The type whose rate a chip has for both.
Dtype twin(Dtype dtype) {
  if (dtype == Dtype::fp16) return Dtype::bf16;
  if (dtype == Dtype::mxfp8) return Dtype::fp8;
  return dtype;
}

}  // namespace

bool has_peak_rate(const Profile& profile, Dtype dtype) {
  const auto& rates = profile.chip.tensor_flops;
  // Chips that multiply in 4 bits scale blocks of 8-bit operands too (Blackwell's block-scaled
  // instructions); Hopper, Ada and CDNA3 do not.
  const bool as_twin = dtype != Dtype::mxfp8 || rates.contains(Dtype::nvfp4);
  return rates.contains(dtype) || (as_twin && rates.contains(twin(dtype)));
}

Figure peak_rate(const Profile& profile, Dtype dtype) {
  const auto& rates = profile.chip.tensor_flops;
  CHECK(!rates.empty(), "the loader refuses a profile without a peak rate");
  for (const Dtype wanted : {dtype, twin(dtype)}) {
    if (const auto at = rates.find(wanted); at != rates.end()) return at->second;
  }
  if (bits_of(dtype) < 16) {
    if (const auto at = rates.find(Dtype::bf16); at != rates.end()) return at->second;
  }
  return std::min_element(
             rates.begin(), rates.end(),
             [](const auto& a, const auto& b) { return a.second.value < b.second.value; })
      ->second;
}

}  // namespace windtunnel
