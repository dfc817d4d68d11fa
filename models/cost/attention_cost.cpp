#include "models/cost/attention_cost.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace windtunnel {

namespace {

using enum AttentionVariant;

struct Fallback {
  AttentionVariant wanted;
  std::array<AttentionVariant, 4> order;
};

/// Nearest in generation first. `fused` and `torch` run as separate products; asked for as one
/// kernel they are priced as flash2, which torch's scaled_dot_product_attention calls.
constexpr std::array kFallback = {
    Fallback{flash1, {flash1, flash2, flash3, cudnn}},
    Fallback{flash2, {flash2, flash3, cudnn, flash1}},
    Fallback{flash3, {flash3, cudnn, flash2, flash1}},
    Fallback{cudnn, {cudnn, flash3, flash2, flash1}},
    Fallback{fused, {flash2, cudnn, flash3, flash1}},
    Fallback{torch, {flash2, cudnn, flash3, flash1}},
};

constexpr double kFallbackSigma = 0.20;  // kernels of neighbouring generations differ by 1.2-2x
constexpr double kFixed = 5e-6;          // s: launch and drain of one kernel, as for products
constexpr int kHeadDimStep = 32;

struct Wanted {
  AttentionVariant variant;
  bool backward, causal;
  int head_dim;
};

/// Rows of one kernel around a head dim, mixed linearly.
struct Mixed {
  bool found = false;
  AttentionRow row;
};

Mixed mix_rows(const Profile& profile, const Wanted& w) {
  const AttentionRow* below = nullptr;
  const AttentionRow* above = nullptr;
  for (const AttentionRow& row : profile.attention) {
    if (row.variant != static_cast<std::uint8_t>(w.variant) || row.backward != w.backward ||
        row.causal != w.causal) {
      continue;
    }
    if (row.head_dim <= w.head_dim && (!below || row.head_dim > below->head_dim)) below = &row;
    if (row.head_dim >= w.head_dim && (!above || row.head_dim < above->head_dim)) above = &row;
  }
  if (!below && !above) return {};
  if (!below || !above || below == above) return {.found = true, .row = above ? *above : *below};
  const double t =
      static_cast<double>(w.head_dim - below->head_dim) / (above->head_dim - below->head_dim);
  AttentionRow row = *above;
  row.peak = (1 - t) * below->peak + t * above->peak;
  row.half_sequence = (1 - t) * below->half_sequence + t * above->half_sequence;
  row.wave = (1 - t) * below->wave + t * above->wave;
  row.sigma = std::max(below->sigma, above->sigma);
  return {.found = true, .row = row};
}

struct Choice {
  AttentionRow row;
  Basis basis = Basis::modelled;
  double sigma = 0.0;
};

/// The row for the kernel asked for, else with the other mask, else of another kernel.
Choice choose(const Profile& profile, Wanted wanted) {
  CHECK(!profile.attention.empty(), "the loader refuses a profile without attention rows");
  const AttentionVariant asked = wanted.variant;
  const bool causal = wanted.causal;
  for (const AttentionVariant variant : attention_fallback(asked)) {
    wanted.variant = variant;
    for (const bool mask : {causal, !causal}) {
      wanted.causal = mask;
      const Mixed mixed = mix_rows(profile, wanted);
      if (!mixed.found) continue;
      if (variant == asked && mask == causal) return {mixed.row, Basis::modelled, mixed.row.sigma};
      return {mixed.row, Basis::assumed, std::max(kFallbackSigma, mixed.row.sigma)};
    }
  }
  return {profile.attention.front(), Basis::assumed, 2.0 * kFallbackSigma};
}

}  // namespace

namespace {

/// Of a value head. A block's sixth size says which keys it reads.
double value_width(const Shape& shape) {
  const bool whole = shape.kernel == Kernel::flash_fwd || shape.kernel == Kernel::flash_bwd;
  const std::int64_t own = whole ? shape.dims[5] : shape.dims[6];
  return static_cast<double>(own > 0 ? own : shape.dims[4]);
}

/// Keys a query of a whole sequence sees at most; 0: all before it.
double window_of(const Shape& shape) {
  const bool whole = shape.kernel == Kernel::flash_fwd || shape.kernel == Kernel::flash_bwd;
  const bool local = whole && shape.dims[6] > 0 && shape.dims[6] < shape.dims[1];
  return local ? static_cast<double>(shape.dims[6]) : 0.0;
}

}  // namespace

AttentionWork attention_work(const Shape& shape) {
  const bool causal = (shape.attr & kCausal) != 0;
  const bool block =
      shape.kernel == Kernel::flash_block_fwd || shape.kernel == Kernel::flash_block_bwd;
  AttentionWork w{
      .queries = static_cast<double>(shape.dims[1]),
      .keys = static_cast<double>(shape.dims[1]),
      .causal = causal,
      .backward = shape.kernel == Kernel::flash_bwd || shape.kernel == Kernel::flash_block_bwd};
  if (const double window = window_of(shape); window > 0) {
    // s w - w^2 / 2 pairs: as many as a causal sequence of s queries has over twice the mean.
    w.keys = 2.0 * (window - window * window / (2.0 * w.queries));
    w.longest = window;
  }
  if (block && (shape.attr & kWholeKeys) != 0) {
    w.keys = static_cast<double>(shape.dims[5]);
  } else if (block && shape.dims[5] > 0) {
    w.keys /= 2;  // of an earlier rank; of a later one all keys for half of the queries
  }
  return w;
}

double attention_flops(const Shape& shape) {
  const auto micro = static_cast<double>(shape.dims[0]), a = static_cast<double>(shape.dims[2]),
             d = static_cast<double>(shape.dims[4]);
  const AttentionWork w = attention_work(shape);
  const double forward =
      2.0 * micro * a * w.queries * w.keys * (d + value_width(shape)) * (w.causal ? 0.5 : 1.0);
  return w.backward ? 2.5 * forward : forward;
}

std::span<const AttentionVariant> attention_fallback(AttentionVariant wanted) {
  for (const Fallback& f : kFallback) {
    if (f.wanted == wanted) return f.order;
  }
  CHECK(false, "attention variant out of range");
  return {};
}

OpCost attention_cost(const Profile& profile, const Shape& shape) {
  CHECK(row_of(shape.kernel).cls == KernelClass::attention, "a fused attention kernel");
  const AttentionWork w = attention_work(shape);
  const int d = static_cast<int>(shape.dims[4]);
  const Choice choice = choose(profile, {.variant = static_cast<AttentionVariant>(shape.variant),
                                         .backward = w.backward,
                                         .causal = w.causal,
                                         .head_dim = d});
  const AttentionRow& row = choice.row;
  const double tiles = std::ceil(w.queries / row.query_tile);
  double mean = w.causal ? (tiles + 1.0) / (2.0 * tiles) : 1.0;
  if (w.longest > 0) mean = w.keys / (2.0 * w.longest);
  const double work =
      static_cast<double>(shape.dims[0] * shape.dims[2]) * tiles * mean / profile.chip.sms.value;
  const int padded = (d + kHeadDimStep - 1) / kHeadDimStep * kHeadDimStep;
  const double rate = row.peak * work / (work + row.wave) * w.keys / (w.keys + row.half_sequence) *
                      d / static_cast<double>(padded);
  const bool local = w.longest > 0;  // no profile has rows of windows
  return {.time = {kFixed + attention_flops(shape) / rate},
          .cls = CostClass::attention,
          .sigma = local ? std::max(kFallbackSigma, choice.sigma) : choice.sigma,
          .origin = {local ? Basis::assumed : choice.basis, row.source}};
}

}  // namespace windtunnel
