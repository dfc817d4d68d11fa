// The CPU's attention, fused and not, against the double reference.

#include "kernels/cpu/attention.h"

#include <string>

#include "kernels/cpu/flash.h"
#include "tests/kernels/against_double.h"

namespace windtunnel {
namespace {

using reference::AttentionDims;
using reference::AttentionMask;
using reference::Bias;
using reference::draw;
using reference::expect_rounded;
using reference::FlashOptions;
using reference::Values;
using reference::widened;

template <class T>
class CpuAttention : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuAttention, RealTypes);

/// One position, fewer than a tile, grouped heads, and more than one tile of queries and keys
/// (64 queries, 192 float or 96 double keys) with a rest of each.
constexpr AttentionDims kSizes[] = {{.micro = 1, .s = 1, .a = 1, .k = 1, .d = 1},
                                    {.micro = 2, .s = 7, .a = 4, .k = 2, .d = 8},
                                    {.micro = 1, .s = 65, .a = 3, .k = 3, .d = 5},
                                    {.micro = 2, .s = 130, .a = 4, .k = 1, .d = 16},
                                    {.micro = 1, .s = 389, .a = 2, .k = 1, .d = 24}};
/// Value heads of a width of their own, narrower and wider.
constexpr AttentionDims kOwnValues[] = {
    {.micro = 2, .s = 130, .a = 4, .k = 4, .d = 24, .values = 16},
    {.micro = 1, .s = 203, .a = 2, .k = 1, .d = 5, .values = 8}};

struct Variant {
  std::string name;
  AttentionMask mask;
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const bool causal : {true, false}) {
    for (const auto bias : {Bias::none, Bias::alibi}) {
      all.push_back(
          {std::string(causal ? "causal" : "full") + (bias == Bias::alibi ? " alibi" : ""),
           {.causal = causal, .bias = bias, .first_head = 1, .heads = 6}});
    }
  }
  // Of one key, shorter and longer than a tile.
  for (const std::int64_t window : {1, 5, 70, 200}) {
    all.push_back(
        {"window " + std::to_string(window),
         {.causal = true, .bias = Bias::alibi, .first_head = 1, .heads = 6, .window = window}});
  }
  return all;
}

FlashOptions with_dropout(const AttentionMask& mask, const AttentionDims& d) {
  return {.mask = mask,
          .dropout = reference::FlashDropout{
              .key = {.seed = 5, .step = 2, .layer = 1, .site = 3, .probability = 0.3},
              .elements = {.s = d.s, .a = d.a, .first_sample = 7, .first_head = 1}}};
}

std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// Sums over positions, over head dims, and over the heads that share a key head.
std::int64_t terms(const AttentionDims& d) {
  return d.s * (d.a / d.k) + d.d;
}

template <class T>
struct Attention {
  Values<T> out, lse, dqkv;
};

template <class T>
Attention<T> sized(const AttentionDims& d) {
  const std::int64_t t = d.micro * d.s;
  constexpr T kUnset = std::numeric_limits<T>::quiet_NaN();
  return {.out = Values<T>(size(t * d.a * d.value_width()), kUnset),
          .lse = Values<T>(size(t * d.a), kUnset),
          .dqkv = Values<T>(size(t * d.width()), kUnset)};
}

template <class T>
void expect_flash(const AttentionDims& d, const FlashOptions& options, const std::string& name) {
  SCOPED_TRACE(name + ", s " + std::to_string(d.s));
  const std::int64_t t = d.micro * d.s;
  const auto qkv = draw<T>(t * d.width(), 1), dout = draw<T>(t * d.a * d.value_width(), 2);
  auto expected = sized<double>(d);
  const auto wide_qkv = widened(qkv), wide_dout = widened(dout);
  reference::flash_fwd(d, options, wide_qkv.data(), expected.out.data(), expected.lse.data());
  reference::flash_bwd<double>(d, options,
                               {.dout = wide_dout.data(),
                                .qkv = wide_qkv.data(),
                                .out = expected.out.data(),
                                .lse = expected.lse.data(),
                                .dqkv = expected.dqkv.data()});
  auto got = sized<T>(d);
  cpu::flash_fwd(d, options, qkv.data(), got.out.data(), got.lse.data());
  cpu::flash_bwd<T>(d, options,
                    {.dout = dout.data(),
                     .qkv = qkv.data(),
                     .out = got.out.data(),
                     .lse = got.lse.data(),
                     .dqkv = got.dqkv.data()});
  expect_rounded(expected.out, got.out, terms(d), "out");
  expect_rounded(expected.lse, got.lse, terms(d), "lse");
  expect_rounded(expected.dqkv, got.dqkv, terms(d), "dqkv");
}

TYPED_TEST(CpuAttention, Flash) {
  std::vector<AttentionDims> sizes(std::begin(kSizes), std::end(kSizes));
  sizes.insert(sizes.end(), std::begin(kOwnValues), std::end(kOwnValues));
  for (const AttentionDims& d : sizes) {
    for (const Variant& v : variants()) {
      expect_flash<TypeParam>(d, {.mask = v.mask, .dropout = {}}, v.name);
      expect_flash<TypeParam>(d, with_dropout(v.mask, d), v.name + " dropout");
    }
  }
}

/// Steps of a ring of three, and the whole sequence's keys, each against the reference.
template <class T>
void expect_block(const reference::AttentionBlock& block, const FlashOptions& options) {
  const AttentionDims& d = block.dims;
  const std::int64_t t = d.micro * d.s, kv_size = block.keys * d.micro * block.key_width();
  const auto qkv = draw<T>(t * d.width(), 1), dout = draw<T>(t * d.a * d.value_width(), 2);
  const auto kv = draw<T>(kv_size, 3);
  const auto wide_qkv = widened(qkv), wide_dout = widened(dout), wide_kv = widened(kv);
  auto expected = sized<double>(d);
  reference::flash_block_fwd<double>(block, options,
                                     {.qkv = wide_qkv.data(),
                                      .kv = wide_kv.data(),
                                      .out = expected.out.data(),
                                      .lse = expected.lse.data()});
  auto got = sized<T>(d);
  cpu::flash_block_fwd<T>(
      block, options,
      {.qkv = qkv.data(), .kv = kv.data(), .out = got.out.data(), .lse = got.lse.data()});
  expect_rounded(expected.out, got.out, terms(d), "out");
  // Rows that see no key: their log is -infinity, in a whole softmax it is some number.
  for (std::size_t i = 0; i < got.lse.size(); ++i) {
    EXPECT_EQ(std::isinf(expected.lse[i]), std::isinf(got.lse[i])) << i;
    if (std::isinf(expected.lse[i])) expected.lse[i] = got.lse[i] = 1;
  }
  expect_rounded(expected.lse, got.lse, terms(d), "lse");
  Values<double> wide_dq(size(t * d.a * d.d), 1), wide_dkv(size(kv_size));
  Values<T> dq(size(t * d.a * d.d), 1), dkv(size(kv_size));
  const auto wide_lse = widened(got.lse);
  reference::flash_block_bwd<double>(block, options,
                                     {.dout = wide_dout.data(),
                                      .qkv = wide_qkv.data(),
                                      .kv = wide_kv.data(),
                                      .out = expected.out.data(),
                                      .lse = wide_lse.data(),
                                      .dq = wide_dq.data(),
                                      .dkv = wide_dkv.data()});
  cpu::flash_block_bwd<T>(block, options,
                          {.dout = dout.data(),
                           .qkv = qkv.data(),
                           .kv = kv.data(),
                           .out = got.out.data(),
                           .lse = got.lse.data(),
                           .dq = dq.data(),
                           .dkv = dkv.data()});
  expect_rounded(wide_dq, dq, terms(d), "dq");
  expect_rounded(wide_dkv, dkv, terms(d), "dkv");
}

/// Value heads as wide as keys, narrower and wider.
class CpuBlocks : public testing::TestWithParam<std::int64_t> {};

template <class T>
void expect_blocks(std::int64_t values) {
  using reference::ZigZag;
  for (const std::int64_t half : {1, 5, 70, 230}) {
    const AttentionDims d{.micro = 2, .s = 2 * half, .a = 4, .k = 2, .d = 8, .values = values};
    FlashOptions options{.mask = {.causal = true, .first_head = 0, .heads = 4}, .dropout = {}};
    for (const bool drops : {false, true}) {
      if (drops) options = with_dropout(options.mask, d);
      if (drops) options.dropout->elements.s = 6 * half;
      const ZigZag own{.half = half, .ring = 3, .place = 1};
      for (const std::int64_t place : {0, 1, 2}) {
        SCOPED_TRACE("half " + std::to_string(half) + ", block of " + std::to_string(place));
        const ZigZag from{.half = half, .ring = 3, .place = place};
        expect_block<T>({.dims = d, .keys = d.s, .query_at = own, .key_at = from}, options);
      }
      expect_block<T>({.dims = d, .keys = 6 * half, .query_at = own, .key_at = {}}, options);
    }
  }
}

TEST_P(CpuBlocks, EqualTheReference) {
  expect_blocks<float>(GetParam());
  expect_blocks<double>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(ValueWidths, CpuBlocks, testing::Values(0, 5, 12));

/// Scores far apart: exponentials relative to anything but the row's largest would overflow.
TYPED_TEST(CpuAttention, FlashOfLargeScores) {
  using T = TypeParam;
  constexpr AttentionDims d{.micro = 1, .s = 300, .a = 1, .k = 1, .d = 4};
  Values<T> qkv = draw<T>(d.s * 12, 3);
  for (std::size_t i = 0; i < qkv.size(); ++i) qkv[i] *= i % 12 < 8 ? T{40} : T{1};
  auto expected = sized<double>(d);
  reference::flash_fwd(d, {}, widened(qkv).data(), expected.out.data(), expected.lse.data());
  auto got = sized<T>(d);
  cpu::flash_fwd<T>(d, {}, qkv.data(), got.out.data(), got.lse.data());
  // A score of some thousand is rounded by as many units of 1, which moves its exponential so far.
  constexpr std::int64_t kScoreSquared = 1000 * 1000;
  expect_rounded(expected.out, got.out, kScoreSquared, "out");
  expect_rounded(expected.lse, got.lse, d.d, "lse");
}

/// Every unfused kernel on operands that the reference made, so that each is judged alone.
template <class T>
void expect_unfused(const AttentionDims& d, const Variant& v) {
  SCOPED_TRACE(v.name + ", s " + std::to_string(d.s));
  const std::int64_t t = d.micro * d.s, n = d.micro * d.a * d.s * d.s;
  const auto qkv = draw<T>(t * d.width(), 1), dout = draw<T>(t * d.a * d.d, 2);
  const auto wide_qkv = widened(qkv), wide_dout = widened(dout);
  Values<double> s(size(n)), p(size(n)), dp(size(n));
  Values<T> got_s(size(n)), got_p(size(n)), got_dp(size(n));
  auto expected = sized<double>(d);
  auto got = sized<T>(d);

  reference::scores_fwd(d, wide_qkv.data(), s.data());
  cpu::scores_fwd(d, qkv.data(), got_s.data());
  expect_rounded(s, got_s, d.d, "scores");

  reference::softmax_fwd(d, v.mask, widened(got_s).data(), p.data());
  cpu::softmax_fwd(d, v.mask, got_s.data(), got_p.data());
  expect_rounded(p, got_p, d.s, "probabilities");

  reference::context_fwd(d, widened(got_p).data(), wide_qkv.data(), expected.out.data());
  cpu::context_fwd(d, got_p.data(), qkv.data(), got.out.data());
  expect_rounded(expected.out, got.out, d.s, "out");

  p = widened(got_p);
  reference::context_bwd<double>(
      d, {wide_dout.data(), p.data(), wide_qkv.data(), dp.data(), expected.dqkv.data()});
  cpu::context_bwd<T>(d, {dout.data(), got_p.data(), qkv.data(), got_dp.data(), got.dqkv.data()});
  expect_rounded(dp, got_dp, d.d, "dprobabilities");

  dp = widened(got_dp);
  reference::softmax_bwd(d, v.mask, dp.data(), p.data(), dp.data());
  cpu::softmax_bwd(d, v.mask, got_dp.data(), got_p.data(), got_dp.data());
  expect_rounded(dp, got_dp, d.s, "dscores");

  dp = widened(got_dp);
  reference::scores_bwd(d, dp.data(), wide_qkv.data(), expected.dqkv.data());
  cpu::scores_bwd(d, got_dp.data(), qkv.data(), got.dqkv.data());
  expect_rounded(expected.dqkv, got.dqkv, terms(d), "dqkv");
}

TYPED_TEST(CpuAttention, Unfused) {
  for (const AttentionDims& d : kSizes) {
    for (const Variant& v : variants()) expect_unfused<TypeParam>(d, v);
  }
}

TYPED_TEST(CpuAttention, SoftmaxInPlace) {
  using T = TypeParam;
  constexpr AttentionDims d{.micro = 1, .s = 33, .a = 2, .k = 1, .d = 1};
  Values<T> s = draw<T>(2 * 33 * 33, 4), apart(s.size());
  const AttentionMask mask{.causal = true, .bias = Bias::alibi, .first_head = 0, .heads = 2};
  cpu::softmax_fwd(d, mask, s.data(), apart.data());
  cpu::softmax_fwd(d, mask, s.data(), s.data());
  expect_rounded(widened(apart), s, 1, "in place");
}

}  // namespace
}  // namespace windtunnel
