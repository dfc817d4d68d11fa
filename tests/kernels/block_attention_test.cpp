// Attention in blocks: zig-zag chunks over a ring, merged, equal attention over the whole sequence;
// each rank of the ring computes as many causal pairs; and what an exchange's copies do.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "kernels/reference/flash_block.h"
#include "kernels/reference/regroup.h"
#include "tests/kernels/gradient_check.h"

namespace windtunnel::reference {
namespace {

constexpr int kRing = 4;
constexpr AttentionDims kWhole{.micro = 2, .s = 16, .a = 4, .k = 2, .d = 2};
constexpr AttentionDims kPart{.micro = 2, .s = 4, .a = 4, .k = 2, .d = 2};

ZigZag place(int rank) {
  return {.half = 2, .ring = kRing, .place = rank};
}

AttentionBlock step_of(int rank, int step) {
  return {.dims = kPart,
          .keys = kPart.s,
          .query_at = place(rank),
          .key_at = place((rank + kRing - step) % kRing)};
}

/// Rows of a rank, `width` columns each, out of the whole sequence's.
template <class T>
Values<T> rows_of(int rank, const T* whole, std::int64_t width) {
  Values<T> part;
  for (std::int64_t p = 0; p < kPart.s; ++p) {
    const T* from = whole + place(rank).position(p) * kWhole.micro * width;
    part.insert(part.end(), from, from + kWhole.micro * width);
  }
  return part;
}

template <class T>
Values<T> keys_of(const Values<T>& qkv) {
  Values<T> kv(qkv.size() / 8 * 4);
  columns_to_blocks(static_cast<std::int64_t>(qkv.size()) / 16, 1,
                    {.width = 16, .offset = 8, .columns = 8}, qkv.data(), kv.data());
  return kv;
}

template <class T>
class BlockAttention : public testing::Test {};
using NumberTypes = testing::Types<double, Field>;
TYPED_TEST_SUITE(BlockAttention, NumberTypes);

FlashOptions options() {
  return {.mask = {.causal = true, .bias = Bias::none, .first_head = 0, .heads = 4},
          .dropout = FlashDropout{{.seed = 2, .layer = 3, .probability = 0.3},
                                  {.s = 16, .a = 4, .first_sample = 5, .first_head = 0}}};
}

TYPED_TEST(BlockAttention, StepsOfARingMergeToTheWhole) {
  using T = TypeParam;
  const auto qkv = draw<T>(32 * 16, 1), dout = draw<T>(32 * 8, 2);
  Values<T> out(32 * 8), lse(32 * 4), dqkv(32 * 16);
  flash_fwd(kWhole, options(), qkv.data(), out.data(), lse.data());
  flash_bwd<T>(kWhole, options(), {dout.data(), qkv.data(), out.data(), lse.data(), dqkv.data()});
  std::vector<Values<T>> dkv(kRing, Values<T>(8 * 8));
  for (int rank = 0; rank < kRing; ++rank) {
    const Values<T> own = rows_of(rank, qkv.data(), 16), expected = rows_of(rank, out.data(), 8);
    const Values<T> own_dout = rows_of(rank, dout.data(), 8);
    Values<T> sum(8 * 8), sum_lse(8 * 4), part(8 * 8), part_lse(8 * 4), dq(8 * 8);
    for (int step = 0; step < kRing; ++step) {
      const Values<T> kv = keys_of(rows_of((rank + kRing - step) % kRing, qkv.data(), 16));
      flash_block_fwd<T>(
          step_of(rank, step), options(),
          {.qkv = own.data(), .kv = kv.data(), .out = part.data(), .lse = part_lse.data()});
      if (step == 0) {
        sum = part;
        sum_lse = part_lse;
      } else {
        merge_attention<T>({.rows = 32,
                            .d = 2,
                            .part = part.data(),
                            .part_lse = part_lse.data(),
                            .out = sum.data(),
                            .lse = sum_lse.data()});
      }
    }
    for (std::size_t i = 0; i < sum.size(); ++i) expect_close(expected[i], sum[i], "out", i);
    for (int step = 0; step < kRing; ++step) {
      const int source = (rank + kRing - step) % kRing;
      const Values<T> kv = keys_of(rows_of(source, qkv.data(), 16));
      Values<T> more(8 * 8);
      flash_block_bwd<T>(step_of(rank, step), options(),
                         {.dout = own_dout.data(),
                          .qkv = own.data(),
                          .kv = kv.data(),
                          .out = sum.data(),
                          .lse = sum_lse.data(),
                          .dq = dq.data(),
                          .dkv = more.data()});
      Values<T>& home = dkv[static_cast<std::size_t>(source)];
      for (std::size_t i = 0; i < more.size(); ++i) home[i] += more[i];
    }
    const Values<T> whole = rows_of(rank, dqkv.data(), 16);
    for (std::int64_t i = 0; i < 64; ++i) {
      const auto u = static_cast<std::size_t>(i);
      expect_close(whole[static_cast<std::size_t>(i / 8 * 16 + i % 8)], dq[u], "dq", u);
    }
  }
  for (int rank = 0; rank < kRing; ++rank) {
    const Values<T> expected = keys_of(rows_of(rank, dqkv.data(), 16));
    for (std::size_t i = 0; i < expected.size(); ++i)
      expect_close(expected[i], dkv[static_cast<std::size_t>(rank)][i], "dkv", i);
  }
}

/// Causal pairs that a rank computes in one step, counted as the kernel sees them.
std::int64_t pairs_of(const AttentionBlock& block) {
  const std::vector<double> ones(512, 1.0);
  std::int64_t pairs = 0;
  for (std::int64_t query = 0; query < block.dims.s; ++query) {
    const AttentionRow row{.sample = 0, .head = 0, .query = query};
    pairs +=
        static_cast<std::int64_t>(block_scores(block, row, ones.data(), ones.data()).keys.size());
  }
  return pairs;
}

TEST(ZigZag, Oracle_O_075_equal_causal_pairs) {
  for (int rank = 0; rank < kRing; ++rank) {
    std::int64_t pairs = 0;
    for (int step = 0; step < kRing; ++step) {
      const std::int64_t own = pairs_of(step_of(rank, step));
      EXPECT_EQ(own, step == 0 ? 10 : 8) << "step " << step << ": half of the block's 16";
      pairs += own;
    }
    std::printf("O-075 rank %d: expected 34 pairs, got %ld\n", rank, static_cast<long>(pairs));
    EXPECT_EQ(pairs, 34);
  }
}

/// Pairs of the keys up to each of a rank's queries.
std::int64_t pairs_of(const RowPlacement& rows, std::int64_t n) {
  std::int64_t pairs = 0;
  for (std::int64_t r = 0; r < n; ++r) pairs += rows.position(r) + 1;
  return pairs;
}

TEST(ZigZag, Oracle_O_076_contiguous_pairs) {
  for (const auto& [rank, expected] : {std::pair{0, 10}, {1, 26}, {2, 42}, {3, 58}}) {
    const std::int64_t got = pairs_of(RowPlacement{.first_row = std::int64_t{rank} * 4}, 4);
    std::printf("O-076 rank %d: expected %d, got %ld\n", rank, expected, static_cast<long>(got));
    EXPECT_EQ(got, expected);
  }
}

constexpr std::int64_t kLong = 131072, kMany = 8;

TEST(ZigZag, Oracle_O_077_pairs_of_a_long_sequence) {
  constexpr std::int64_t kExpected = 1'073'750'016;  // s (s + 1) / (2 C)
  for (std::int64_t rank = 0; rank < kMany; ++rank) {
    const RowPlacement rows{
        .positions = {.half = kLong / (2 * kMany), .ring = kMany, .place = rank}};
    const std::int64_t got = pairs_of(rows, kLong / kMany);
    std::printf("O-077 rank %ld: expected %ld, got %ld\n", static_cast<long>(rank),
                static_cast<long>(kExpected), static_cast<long>(got));
    EXPECT_EQ(got, kExpected);
  }
}

TEST(ZigZag, Oracle_O_078_contiguous_slowdown) {
  // A query's own key counts half, as in FLOP conventions: the formula has no diagonal.
  constexpr std::int64_t kTokens = kLong / kMany;
  std::vector<std::int64_t> doubled;
  for (std::int64_t rank = 0; rank < kMany; ++rank) {
    doubled.push_back(2 * pairs_of(RowPlacement{.first_row = rank * kTokens}, kTokens) - kTokens);
  }
  const double most = static_cast<double>(*std::max_element(doubled.begin(), doubled.end()));
  const double mean =
      static_cast<double>(std::accumulate(doubled.begin(), doubled.end(), std::int64_t{0})) / kMany;
  std::printf("O-078: expected 1.875, got %.17g\n", most / mean);
  EXPECT_EQ(most / mean, 2.0 - 1.0 / kMany);
}

TEST(Regroup, SequenceAndBack) {
  constexpr std::int64_t kRows = 4, kMembers = 3;
  std::vector<double> x(kRows * kMembers * 2), sequence(x.size()), back(x.size());
  // Each member's rows hold the positions of its two chunks.
  for (std::int64_t m = 0; m < kMembers; ++m) {
    const ZigZag at{.half = 2, .ring = kMembers, .place = m};
    for (std::int64_t r = 0; r < kRows; ++r) {
      const auto i = static_cast<std::size_t>((m * kRows + r) * 2);
      x[i] = x[i + 1] = static_cast<double>(at.position(r));
    }
  }
  const ColumnRange all{.width = 2, .offset = 0, .columns = 2};
  rows_to_sequence(kRows, kMembers, all, x.data(), sequence.data());
  for (std::size_t i = 0; i < sequence.size(); ++i) EXPECT_EQ(sequence[i], i / 2);
  sequence_to_rows(kRows, kMembers, all, sequence.data(), back.data());
  EXPECT_EQ(x, back);
}

TEST(Regroup, ColumnsAndBack) {
  std::vector<double> x(18), blocks(12), back(18, -1.0);
  std::iota(x.begin(), x.end(), 0.0);
  const ColumnRange range{.width = 6, .offset = 1, .columns = 4};
  columns_to_blocks(3, 2, range, x.data(), blocks.data());
  EXPECT_EQ(blocks, (std::vector<double>{1, 2, 7, 8, 13, 14, 3, 4, 9, 10, 15, 16}));
  blocks_to_columns(3, 2, range, blocks.data(), back.data());
  EXPECT_EQ(back,
            (std::vector<double>{-1, 1, 2, 3, 4, -1, -1, 7, 8, 9, 10, -1, -1, 13, 14, 15, 16, -1}));
}

}  // namespace
}  // namespace windtunnel::reference
