// What kernels compute beyond their gradients: fused equals unfused, shards equal the whole, and
// the values chosen by hand.

#include <gtest/gtest.h>

#include <numeric>

#include "kernels/reference/dropout.h"
#include "kernels/reference/embedding.h"
#include "kernels/reference/flash.h"
#include "kernels/reference/loss.h"
#include "kernels/reference/optimizer.h"
#include "tests/kernels/gradient_check.h"

namespace windtunnel::reference {
namespace {

TEST(Field, InverseAndNegativeIntegers) {
  for (const std::int64_t i : {1, 2, 3, 7, 100, 1 << 20}) {
    EXPECT_EQ((Number<Field>::ratio(1, i) * Number<Field>::integer(i)).value, 1U) << i;
    EXPECT_EQ((Number<Field>::integer(-i) + Number<Field>::integer(i)).value, 0U) << i;
  }
}

TEST(Field, LongSumsReduceOnce) {
  const Field largest{kPrime - 1};  // -1
  Dot<Field> dot;
  constexpr std::int64_t kTerms = 1 << 20;
  for (std::int64_t i = 0; i < kTerms; ++i) dot.add(largest, largest);
  EXPECT_EQ(dot.value().value, static_cast<std::uint64_t>(kTerms));
}

TEST(Field, PoisonIsNoElement) {
  EXPECT_TRUE(Number<Field>::is_poison(Number<Field>::poison()));
  EXPECT_FALSE(Number<Field>::is_poison({kPrime - 1}));
}

template <class T>
class KernelSemantics : public testing::Test {};
using NumberTypes = testing::Types<double, Field>;
TYPED_TEST_SUITE(KernelSemantics, NumberTypes);

TYPED_TEST(KernelSemantics, FlashEqualsUnfusedWithDropout) {
  using T = TypeParam;
  constexpr AttentionDims d{.micro = 2, .s = 4, .a = 4, .k = 2, .d = 2};
  constexpr AttentionMask mask{.causal = true, .bias = Bias::alibi, .first_head = 0, .heads = 4};
  const DropoutKey key{.seed = 2, .layer = 3, .probability = 0.3};
  const AttentionElements elements{.s = 4, .a = 4, .first_sample = 5, .first_head = 0};
  const auto qkv = draw<T>(8 * 16, 1);
  Values<T> p(128), keep(128), unfused(64), fused(64), lse(32);
  scores_fwd(d, qkv.data(), p.data());
  softmax_fwd(d, mask, p.data(), p.data());
  dropout_fwd<T>(key, elements,
                 {.rows = 32, .columns = 4, .x = p.data(), .y = p.data(), .mask = keep.data()});
  context_fwd(d, p.data(), qkv.data(), unfused.data());
  const FlashOptions options{.mask = mask, .dropout = FlashDropout{key, elements}};
  flash_fwd(d, options, qkv.data(), fused.data(), lse.data());
  for (std::size_t i = 0; i < fused.size(); ++i) expect_close(unfused[i], fused[i], "out", i);
}

/// Two halves of the heads, as two tensor-parallel ranks hold them, give the whole.
TYPED_TEST(KernelSemantics, HeadsSplitOverRanks) {
  using T = TypeParam;
  constexpr std::int64_t kRows = 6, kHalf = 4 * 2;  // (a/2 + 2 k/2) d
  constexpr AttentionDims whole{.micro = 2, .s = 3, .a = 4, .k = 2, .d = 2};
  constexpr AttentionDims half{.micro = 2, .s = 3, .a = 2, .k = 1, .d = 2};
  const auto qkv = draw<T>(kRows * 16, 4);
  const auto options = [](std::int64_t first_head, std::int64_t a) {
    return FlashOptions{
        .mask = {.causal = true, .bias = Bias::alibi, .first_head = first_head, .heads = 4},
        .dropout = FlashDropout{{.seed = 9, .probability = 0.3},
                                {.s = 3, .a = a, .first_sample = 0, .first_head = first_head}}};
  };
  Values<T> out(kRows * 8), lse(kRows * 4);
  flash_fwd(whole, options(0, 4), qkv.data(), out.data(), lse.data());
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    Values<T> part, part_out(kRows * 4), part_lse(kRows * 2);
    for (std::int64_t r = 0; r < kRows; ++r) {
      const T* row = qkv.data() + r * 16;
      part.insert(part.end(), row + rank * 4, row + rank * 4 + 4);            // queries
      part.insert(part.end(), row + 8 + rank * 2, row + 8 + rank * 2 + 2);    // keys
      part.insert(part.end(), row + 12 + rank * 2, row + 12 + rank * 2 + 2);  // values
    }
    ASSERT_EQ(static_cast<std::int64_t>(part.size()), kRows * kHalf);
    flash_fwd(half, options(rank * 2, 2), part.data(), part_out.data(), part_lse.data());
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t c = 0; c < 4; ++c) {
        expect_close(out[static_cast<std::size_t>(r * 8 + rank * 4 + c)],
                     part_out[static_cast<std::size_t>(r * 4 + c)], "out",
                     static_cast<std::size_t>(c));
      }
    }
  }
}

/// Two halves of the padded vocabulary, reduced as the plan does, give the loss of the whole.
TYPED_TEST(KernelSemantics, VocabularySplitOverRanks) {
  using T = TypeParam;
  constexpr std::int64_t kT = 3, kV = 8, kVocab = 5;  // the second half has one real column
  const Values<T> labels{Number<T>::integer(4), Number<T>::integer(0), Number<T>::integer(2)};
  const auto logits = draw<T>(kT * kV, 12);
  const auto dims = [](std::int64_t first, std::int64_t v) {
    return LossDims{.t = kT, .v = v, .first_column = first, .vocab = kVocab, .divisor = 3};
  };
  Values<T> maxima(kT), probs(kT * kV), target(kT), sum(kT), whole(1), split(1);
  ce_max(dims(0, kV), logits.data(), maxima.data());
  ce_partial<T>(dims(0, kV), {logits.data(), labels.data(), maxima.data(), probs.data(),
                              target.data(), sum.data()});
  ce_loss(dims(0, kV), target.data(), sum.data(), whole.data());
  Values<T> all_target(kT), all_sum(kT);
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    Values<T> part;
    for (std::int64_t r = 0; r < kT; ++r) {
      const auto row = logits.begin() + r * kV + rank * 4;
      part.insert(part.end(), row, row + 4);
    }
    ce_partial<T>(dims(rank * 4, 4), {part.data(), labels.data(), maxima.data(), part.data(),
                                      target.data(), sum.data()});
    for (std::size_t r = 0; r < kT; ++r) {
      all_target[r] += target[r];
      all_sum[r] += sum[r];
    }
  }
  ce_loss(dims(0, 4), all_target.data(), all_sum.data(), split.data());
  expect_close(whole[0], split[0], "loss", 0);
}

/// Garbage in columns beyond the vocabulary changes neither loss nor gradient; counted in, as a
/// plan would that forgets the padding, it changes both.
TYPED_TEST(KernelSemantics, PaddedVocabularyTakesNoPart) {
  using T = TypeParam;
  constexpr std::int64_t kT = 2, kV = 6;
  const Values<T> labels{Number<T>::integer(1), Number<T>::integer(3)};
  struct Loss {
    Values<T> value = Values<T>(1), gradient = Values<T>(kT * kV);
  };
  const auto loss_of = [&](std::int64_t vocab, std::uint64_t garbage) {
    const LossDims d{.t = kT, .v = kV, .first_column = 0, .vocab = vocab, .divisor = 2};
    Values<T> x = draw<T>(kT * kV, 3), noise = draw<T>(kT * kV, garbage);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % kV < 4 ? x[i] : noise[i];
    Values<T> maxima(kT), target(kT), sum(kT);
    Loss loss;
    ce_max(d, x.data(), maxima.data());
    ce_partial<T>(d, {x.data(), labels.data(), maxima.data(), x.data(), target.data(), sum.data()});
    ce_loss(d, target.data(), sum.data(), loss.value.data());
    ce_bwd(d, x.data(), sum.data(), labels.data(), loss.gradient.data());
    return loss;
  };
  const Loss a = loss_of(4, 5), b = loss_of(4, 6);
  EXPECT_TRUE(a.value == b.value);
  EXPECT_TRUE(a.gradient == b.gradient);
  EXPECT_TRUE(a.gradient[4] == T{} && a.gradient[kV + 5] == T{});
  EXPECT_FALSE(loss_of(kV, 5).value == a.value);
}

TEST(CrossEntropy, UniformLogitsCostTheLogOfTheVocabulary) {
  constexpr LossDims d{.t = 2, .v = 8, .first_column = 0, .vocab = 7, .divisor = 2};
  const Values<double> logits(16, 3.0), labels{0.0, 6.0};
  Values<double> maxima(2), probs(16), target(2), sum(2), loss(1);
  ce_max(d, logits.data(), maxima.data());
  ce_partial<double>(
      d, {logits.data(), labels.data(), maxima.data(), probs.data(), target.data(), sum.data()});
  ce_loss(d, target.data(), sum.data(), loss.data());
  EXPECT_DOUBLE_EQ(loss[0], std::log(7.0));
}

TEST(Dropout, SequenceShardsDrawTheWholeMask) {
  const DropoutKey key{.seed = 1, .probability = 0.5};
  const HiddenElements whole{.rows = {.micro = 2, .first_row = 0, .first_sample = 6}};
  const HiddenElements shard{.rows = {.micro = 2, .first_row = 4, .first_sample = 6}};
  int kept = 0;
  for (std::int64_t r = 0; r < 4; ++r) {
    for (std::int64_t c = 0; c < 64; ++c) {
      EXPECT_EQ(whole.kept(key, r + 4, c), shard.kept(key, r, c));
      kept += shard.kept(key, r, c) ? 1 : 0;
    }
  }
  constexpr int kExpected = 128, kFiveSigma = 40;  // binomial of 256 draws at one half
  EXPECT_NEAR(kept, kExpected, kFiveSigma);
}

TEST(Alibi, SlopesOfEightAndOfSixHeads) {
  EXPECT_DOUBLE_EQ(alibi_slope<double>(0, 8), 0.5);
  EXPECT_DOUBLE_EQ(alibi_slope<double>(7, 8), 1.0 / 256.0);
  // Six heads: those of four (1/4, 1/16, 1/64, 1/256), then every other one of eight.
  EXPECT_DOUBLE_EQ(alibi_slope<double>(1, 6), 1.0 / 16.0);
  EXPECT_DOUBLE_EQ(alibi_slope<double>(4, 6), 0.5);
  EXPECT_DOUBLE_EQ(alibi_slope<double>(5, 6), 0.125);
}

TEST(Adamw, FirstStepMovesByTheLearningRateAndDecays) {
  const OptimizerConstants k;
  const Values<double> g{2.0, -0.5};
  Values<double> master{1.0, 1.0}, m(2), v(2), w(2);
  adamw<double>(k, 0,
                {.n = 2,
                 .g = g.data(),
                 .coefficient = 0.5,
                 .master = master.data(),
                 .m = m.data(),
                 .v = v.data(),
                 .w = w.data()});
  // The first step's m_hat / sqrt(v_hat) is the sign of the gradient, up to epsilon.
  constexpr double kEpsilonEffect = 1e-9;  // learning_rate * epsilon / |g|
  EXPECT_NEAR(w[0], 1.0 - k.learning_rate * (1.0 + k.weight_decay), kEpsilonEffect);
  EXPECT_NEAR(w[1], 1.0 - k.learning_rate * (-1.0 + k.weight_decay), kEpsilonEffect);
  EXPECT_DOUBLE_EQ(m[0], 0.1 * 1.0);
}

TEST(Clip, ScalesOnlyNormsAboveTheLimit) {
  EXPECT_DOUBLE_EQ(clip_coefficient<double>({}, 0.25), 1.0);
  EXPECT_NEAR(clip_coefficient<double>({}, 16.0), 0.25, 1e-6);  // clip_epsilon over the norm
  EXPECT_EQ(clip_coefficient<Field>({}, {41}).value, 42U);
}

TEST(Tokens, LabelsAreTheNextTokens) {
  constexpr std::int64_t kT = 8;
  const RowPlacement rows{.micro = 2, .first_row = 0, .first_sample = 3};
  Values<double> tokens(kT), labels(kT);
  load_tokens({.seed = 1, .vocab = 50, .shift = 0}, rows, kT, tokens.data());
  load_tokens({.seed = 1, .vocab = 50, .shift = 1}, rows, kT, labels.data());
  for (std::size_t r = 0; r + 2 < kT; ++r) EXPECT_EQ(labels[r], tokens[r + 2]);
}

}  // namespace
}  // namespace windtunnel::reference
