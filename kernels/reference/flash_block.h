#pragma once
// Fused attention of a rank's queries over keys and values from elsewhere: one step of a ring, or
// the whole sequence's.
//
// A query sees the keys up to its own position; with zig-zag places (placement.h) that is, of a
// block of an earlier rank, its first half for all queries, and of a later rank's, all of it for
// the second half of the queries. Each step gives outputs of its own softmax and log(sum(exp)) of
// each row; `merge` makes the whole softmax of two (Liu et al. 2023, arXiv 2310.01889). A row that
// sees no key has output 0 and log -infinity. In the field, without softmax, outputs add up.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/reference/flash.h"
#include "kernels/reference/placement.h"

namespace windtunnel::reference {

/// `dims.s` counts the queries' positions. Dropout counts positions of the whole sequence.
struct AttentionBlock {
  AttentionDims dims;
  std::int64_t keys = 0;  // positions of the block
  ZigZag query_at, key_at;

  /// Columns of kv: all keys, behind them all values, which may have a width dv of their own.
  std::int64_t key_width() const { return dims.k * (dims.d + dims.value_width()); }
  /// Offsets in kv (keys micro, k (d + dv)) of the key and value vectors that `head` uses.
  std::int64_t key(std::int64_t sample, std::int64_t position, std::int64_t head) const {
    return dims.row(sample, position) * key_width() + head / (dims.a / dims.k) * dims.d;
  }
  std::int64_t value(std::int64_t sample, std::int64_t position, std::int64_t head) const {
    return dims.row(sample, position) * key_width() + dims.k * dims.d +
           head / (dims.a / dims.k) * dims.value_width();
  }
  /// Offset of a head's vector in a tensor of queries alone (t, a d).
  std::int64_t query(const AttentionRow& row) const {
    return (dims.row(row.sample, row.query) * dims.a + row.head) * dims.d;
  }
};

template <class T>
T block_factor(const AttentionBlock& block, const FlashOptions& options, const AttentionRow& row,
               std::int64_t key) {
  if (!options.dropout) return Number<T>::integer(1);
  const FlashDropout& dropout = *options.dropout;
  const std::int64_t query = block.query_at.position(row.query);
  const std::int64_t r = (row.sample * block.dims.a + row.head) * dropout.elements.s + query;
  return dropout.elements.kept(dropout.key, r, block.key_at.position(key))
             ? keep_scale<T>(dropout.key)
             : T{};
}

/// Scores of one row over the keys it sees; the others are left out.
template <class T>
struct BlockScores {
  std::vector<std::int64_t> keys;
  std::vector<T> values;
};

template <class T>
BlockScores<T> block_scores(const AttentionBlock& block, const AttentionRow& row, const T* qkv,
                            const T* kv) {
  BlockScores<T> scores;
  const std::int64_t query = block.query_at.position(row.query);
  const T scale = score_scale<T>(block.dims.d);
  const T* q = qkv + block.dims.query(row.sample, row.query, row.head);
  for (std::int64_t j = 0; j < block.keys; ++j) {
    if (block.key_at.position(j) > query) continue;
    const T* key = kv + block.key(row.sample, j, row.head);
    Dot<T> dot;
    for (std::int64_t c = 0; c < block.dims.d; ++c) dot.add(q[c], key[c]);
    scores.keys.push_back(j);
    scores.values.push_back(dot.value() * scale);
  }
  return scores;
}

/// log(sum(exp)) of the scores; 0 in the field.
template <class T>
T block_lse(const std::vector<T>& scores) {
  if constexpr (Number<T>::exact) {
    return T{};
  } else {
    if (scores.empty()) return -std::numeric_limits<T>::infinity();
    const T largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const T s : scores) sum += std::exp(static_cast<double>(s) - largest);
    return static_cast<T>(largest + std::log(sum));
  }
}

/// Of a score, given its row's log(sum(exp)); the score itself in the field.
template <class T>
T block_probability(T score, T lse) {
  if constexpr (Number<T>::exact) {
    return score;
  } else {
    return static_cast<T>(std::exp(static_cast<double>(score) - lse));
  }
}

template <class T>
struct FlashBlockForward {
  const T* qkv;  // (t, (a + k) d + k dv)
  const T* kv;   // (keys micro, k (d + dv))
  T* out;        // (t, a dv)
  T* lse;        // (t a)
};

template <class T>
void flash_block_fwd(const AttentionBlock& block, const FlashOptions& options,
                     const FlashBlockForward<T>& f) {
  const AttentionDims& dims = block.dims;
  for_each_row(dims, [&](const AttentionRow& row) {
    const BlockScores<T> scores = block_scores(block, row, f.qkv, f.kv);
    const T whole = block_lse(scores.values);
    f.lse[dims.row(row.sample, row.query) * dims.a + row.head] = whole;
    T* o = f.out + dims.out(row.sample, row.query, row.head);
    const std::int64_t width = dims.value_width();
    std::vector<Dot<T>> dots(static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < scores.keys.size(); ++i) {
      const std::int64_t j = scores.keys[i];
      const T p =
          block_probability(scores.values[i], whole) * block_factor<T>(block, options, row, j);
      const T* value = f.kv + block.value(row.sample, j, row.head);
      for (std::int64_t c = 0; c < width; ++c) dots[static_cast<std::size_t>(c)].add(p, value[c]);
    }
    for (std::int64_t c = 0; c < width; ++c) o[c] = dots[static_cast<std::size_t>(c)].value();
  });
}

template <class T>
struct FlashBlockBackward {
  const T* dout;  // (t, a dv)
  const T* qkv;   // (t, (a + k) d + k dv)
  const T* kv;    // (keys micro, k (d + dv))
  const T* out;   // (t, a dv), of the whole softmax
  const T* lse;   // (t a), of the whole softmax
  T* dq;          // (t, a d) +=
  T* dkv;         // (keys micro, k (d + dv)), overwritten
};

template <class T>
void flash_block_bwd_row(const AttentionBlock& block, const FlashOptions& options,
                         const AttentionRow& row, const FlashBlockBackward<T>& o) {
  const AttentionDims& dims = block.dims;
  const T scale = score_scale<T>(dims.d);
  const std::int64_t at = dims.out(row.sample, row.query, row.head);
  const T* query = o.qkv + dims.query(row.sample, row.query, row.head);
  const T lse = o.lse[dims.row(row.sample, row.query) * dims.a + row.head];
  const BlockScores<T> scores = block_scores(block, row, o.qkv, o.kv);
  Dot<T> inner;
  const std::int64_t width = dims.value_width(), dq = block.query(row);
  for (std::int64_t c = 0; c < width; ++c) inner.add(o.dout[at + c], o.out[at + c]);
  for (std::size_t i = 0; i < scores.keys.size(); ++i) {
    const std::int64_t key = block.key(row.sample, scores.keys[i], row.head);
    const std::int64_t value = block.value(row.sample, scores.keys[i], row.head);
    const T factor = block_factor<T>(block, options, row, scores.keys[i]);
    const T probability = block_probability(scores.values[i], lse);
    Dot<T> dp;
    for (std::int64_t c = 0; c < width; ++c) {
      dp.add(o.dout[at + c], o.kv[value + c]);
      o.dkv[value + c] += probability * factor * o.dout[at + c];
    }
    T ds = dp.value() * factor;
    if constexpr (!Number<T>::exact) ds = probability * (ds - inner.value());
    ds *= scale;
    for (std::int64_t c = 0; c < dims.d; ++c) {
      o.dq[dq + c] += ds * o.kv[key + c];
      o.dkv[key + c] += ds * query[c];
    }
  }
}

template <class T>
void flash_block_bwd(const AttentionBlock& block, const FlashOptions& options,
                     const FlashBlockBackward<T>& o) {
  std::fill(o.dkv, o.dkv + block.keys * block.dims.micro * block.key_width(), T{});
  for_each_row(block.dims,
               [&](const AttentionRow& row) { flash_block_bwd_row(block, options, row, o); });
}

/// Outputs of a step, and of the steps before it.
template <class T>
struct AttentionMerge {
  std::int64_t rows = 0, d = 0;  // rows: (row, head)
  const T* part;                 // (rows, d)
  const T* part_lse;             // (rows)
  T* out;                        // (rows, d)
  T* lse;                        // (rows)
};

/// lse' = log(exp(lse) + exp(part_lse)); out' = exp(lse - lse') out + exp(part_lse - lse') part.
template <class T>
void merge_attention(const AttentionMerge<T>& o) {
  for (std::int64_t r = 0; r < o.rows; ++r) {
    T* out = o.out + r * o.d;
    const T* part = o.part + r * o.d;
    if constexpr (Number<T>::exact) {
      for (std::int64_t c = 0; c < o.d; ++c) out[c] += part[c];
    } else {
      if (std::isinf(o.part_lse[r])) continue;
      const double before = o.lse[r], more = o.part_lse[r];
      const double largest = std::max(before, more);
      const double lse = largest + std::log(std::exp(before - largest) + std::exp(more - largest));
      const T kept = static_cast<T>(std::exp(before - lse));
      const T added = static_cast<T>(std::exp(more - lse));
      for (std::int64_t c = 0; c < o.d; ++c) out[c] = kept * out[c] + added * part[c];
      o.lse[r] = static_cast<T>(lse);
    }
  }
}

}  // namespace windtunnel::reference
