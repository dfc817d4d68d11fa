#include "kernels/cpu/flash.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/cpu/head_blocks.h"
#include "kernels/cpu/row_draws.h"

namespace windtunnel::cpu {

namespace {

using reference::Update;

template <class T>
using Row = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;

/// A tile stays in a first-level cache of 48 KiB between the product that writes it and the one
/// that reads it; from 32 to 60 KiB the speed is the same within 10 %.
constexpr std::int64_t kTileBytes = 48 << 10;
template <class T>
constexpr std::int64_t kKeys = kTileBytes / (kFlashQueries * static_cast<std::int64_t>(sizeof(T)));

template <class T>
struct Tile {
  alignas(64) std::array<T, kFlashQueries * kKeys<T>> values;

  T* row(std::int64_t i) { return values.data() + i * kKeys<T>; }
  Block<T> block(std::int64_t rows, std::int64_t columns) {
    return {values.data(), rows, columns, kKeys<T>};
  }
};

/// A number for each query of a tile.
template <class T>
using PerQuery = std::array<T, kFlashQueries>;

/// Which queries and keys a tile covers.
struct TileAt {
  std::int64_t query, key, rows, columns;
  bool first = false;  // of its queries
};

/// Columns of a tile that one of its rows sees: [first, end).
struct Visible {
  std::int64_t first = 0, end = 0;

  std::int64_t size() const { return end - first; }
};

/// What the tiles of one head have in common.
template <class T>
struct HeadContext {
  const AttentionBlock& block;
  const AttentionDims& dims;
  const FlashOptions& options;
  Head at;
  T scale, slope, keep_scale;

  HeadContext(const AttentionBlock& b, const FlashOptions& o, const Head& head)
      : block(b),
        dims(b.dims),
        options(o),
        at(head),
        scale(reference::score_scale<T>(b.dims.d)),
        slope(o.mask.bias == reference::Bias::alibi
                  ? reference::alibi_slope<T>(o.mask.first_head + head.head, o.mask.heads)
                  : T{}),
        keep_scale(o.dropout ? reference::keep_scale<T>(o.dropout->key) : T{1}) {}

  /// Keys that a query sees: the first of the block's.
  std::int64_t keys(std::int64_t query) const {
    if (!options.mask.causal) return block.keys;
    return block.key_at.up_to(block.query_at.position(query), block.keys);
  }
  /// Which of a tile's keys row i of it sees. Only whole sequences have a window.
  Visible visible(const TileAt& tile, std::int64_t i) const {
    const std::int64_t end =
        std::clamp<std::int64_t>(keys(tile.query + i) - tile.key, 0, tile.columns);
    const std::int64_t first =
        std::clamp<std::int64_t>(options.mask.first_key(tile.query + i) - tile.key, 0, end);
    return {first, end};
  }
  RowDraws draws(std::int64_t query) const {
    const std::int64_t r = (at.sample * dims.a + at.head) * options.dropout->elements.s +
                           block.query_at.position(query);
    return {options.dropout->key, options.dropout->elements.row(r)};
  }
  /// Subtracts the distances' penalty from the scores of row i.
  void add_bias(const TileAt& tile, std::int64_t i, const Visible& seen, T* scores) const {
    if (options.mask.bias == reference::Bias::none) return;
    const std::int64_t distance = tile.query + i - tile.key;
    const T per_position = slope;  // a copy that `scores` cannot alias
    for (std::int64_t j = seen.first; j < seen.end; ++j)
      scores[j] -= per_position * static_cast<T>(distance - j);
  }
  /// factors (n) of row i: 0 or 1 / (1 - p).
  void dropout_factors(const TileAt& tile, std::int64_t i, std::int64_t n, T* factors) const {
    const RowDraws row = draws(tile.query + i);
    const T kept = keep_scale;
    const reference::ZigZag& at_key = block.key_at;
    const std::int64_t before = std::clamp<std::int64_t>(at_key.half - tile.key, 0, n);
    const std::int64_t first = at_key.first() + tile.key;
    const std::int64_t second = at_key.second() + tile.key - at_key.half;
    for (std::int64_t j = 0; j < before; ++j) factors[j] = row.kept(first + j) ? kept : T{};
    for (std::int64_t j = before; j < n; ++j) factors[j] = row.kept(second + j) ? kept : T{};
  }
};

/// Calls visit for the tiles of `rows` queries from `query` on that hold a visible key.
template <class T, class F>
void for_each_tile(const HeadContext<T>& head, std::int64_t query, std::int64_t rows, F visit) {
  const std::int64_t keys = head.keys(query + rows - 1);
  const std::int64_t begin = head.options.mask.first_key(query) / kKeys<T> * kKeys<T>;
  for (std::int64_t key = begin; key < keys; key += kKeys<T>) {
    visit(TileAt{.query = query,
                 .key = key,
                 .rows = rows,
                 .columns = std::min(kKeys<T>, keys - key),
                 .first = key == begin});
  }
}

/// What a tile's queries hold so far: the largest score, and relative to it the sums of
/// exponentials and of exponentials times values (out).
template <class T>
struct Running {
  PerQuery<T> largest, sum;
  Block<T> out;
};

/// Scores of row i of a tile -> exponentials, all but their product with the values added to
/// `running`.
template <class T>
void add_tile_row(const HeadContext<T>& head, const TileAt& tile, std::int64_t i, T* scores,
                  Running<T>& running) {
  const auto u = static_cast<std::size_t>(i);
  const Visible seen = head.visible(tile, i);
  std::fill(scores, scores + seen.first, T{});
  std::fill(scores + seen.end, scores + tile.columns, T{});
  if (seen.size() == 0) return;
  head.add_bias(tile, i, seen, scores);
  Row<T> p(scores + seen.first, seen.size());
  const T largest = std::max(running.largest[u], p.maxCoeff());
  const T correction = std::exp(running.largest[u] - largest);
  p = (p - largest).exp();
  running.sum[u] = running.sum[u] * correction + p.sum();
  running.largest[u] = largest;
  if (!tile.first && correction != T{1}) {
    Row<T>(running.out.data + i * running.out.stride, head.dims.value_width()) *= correction;
  }
  if (head.options.dropout) {
    alignas(64) std::array<T, kKeys<T>> factors;
    head.dropout_factors(tile, i, seen.end, factors.data());
    p *= Row<T>(factors.data() + seen.first, seen.size());
  }
}

/// What the forward reads and writes of one head.
template <class T>
struct ForwardBlocks {
  Block<const T> q, k, v;
  Block<T> out;
  T* lse;  // of position 0
};

template <class T>
void forward_queries(const HeadContext<T>& head, const ForwardBlocks<T>& o, std::int64_t query,
                     std::int64_t rows) {
  const std::int64_t d = head.dims.d, values = head.dims.value_width();
  Tile<T> scores;
  const Block<T> out = o.out.part(query, 0, rows, values);
  Running<T> running{.largest = {}, .sum = {}, .out = out};
  running.largest.fill(-std::numeric_limits<T>::infinity());
  for_each_tile(head, query, rows, [&](const TileAt& tile) {
    const Block<T> s = scores.block(rows, tile.columns);
    product_nt<T>({.a = o.q.part(query, 0, rows, d),
                   .b = o.k.part(tile.key, 0, tile.columns, d),
                   .c = s,
                   .alpha = head.scale});
    for (std::int64_t i = 0; i < rows; ++i) {
      add_tile_row(head, tile, i, scores.row(i), running);
    }
    product_nn<T>({.a = s.readable(),
                   .b = o.v.part(tile.key, 0, tile.columns, values),
                   .c = out,
                   .update = tile.first ? Update::overwrite : Update::accumulate});
  });
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto u = static_cast<std::size_t>(i);
    Row<T> row(out.data + i * out.stride, values);
    if (running.sum[u] > 0) {
      row *= 1 / running.sum[u];
    } else {
      row.setZero();  // sees no key of the block
    }
    o.lse[(query + i) * head.dims.micro * head.dims.a] =
        running.largest[u] + std::log(running.sum[u]);
  }
}

/// What the backward reads and writes of one head.
template <class T>
struct BackwardBlocks {
  Block<const T> q, k, v, out, dout;
  Block<T> dq, dk, dv;
  const T* lse;  // of position 0
};

/// Scores and dprobabilities of one row of a tile -> probabilities after dropout, dscores.
template <class T>
struct BackwardRow {
  T* probabilities;
  T* dscores;
  T lse, inner;
};

template <class T>
void backward_row(const HeadContext<T>& head, const TileAt& tile, std::int64_t i,
                  const BackwardRow<T>& o) {
  const Visible seen = head.visible(tile, i);
  for (T* row : {o.probabilities, o.dscores}) {
    std::fill(row, row + seen.first, T{});
    std::fill(row + seen.end, row + tile.columns, T{});
  }
  if (seen.size() == 0) return;
  head.add_bias(tile, i, seen, o.probabilities);
  Row<T> p(o.probabilities + seen.first, seen.size());
  Row<T> ds(o.dscores + seen.first, seen.size());
  p = (p - o.lse).exp();
  if (head.options.dropout) {
    alignas(64) std::array<T, kKeys<T>> values;
    head.dropout_factors(tile, i, seen.end, values.data());
    const Row<T> factors(values.data() + seen.first, seen.size());
    ds = p * (ds * factors - o.inner);
    p *= factors;
  } else {
    ds = p * (ds - o.inner);
  }
}

/// One tile's part of dq, dk and dv.
template <class T>
void backward_tile(const HeadContext<T>& head, const BackwardBlocks<T>& o, const TileAt& tile,
                   const PerQuery<T>& inner) {
  Tile<T> probabilities, dscores;
  const auto part_q = [&](const auto& b) { return b.part(tile.query, 0, tile.rows, b.columns); };
  const auto part_k = [&](const auto& b) { return b.part(tile.key, 0, tile.columns, b.columns); };
  const Block<T> p = probabilities.block(tile.rows, tile.columns);
  const Block<T> ds = dscores.block(tile.rows, tile.columns);
  product_nt<T>({.a = part_q(o.q), .b = part_k(o.k), .c = p, .alpha = head.scale});
  product_nt<T>({.a = part_q(o.dout), .b = part_k(o.v), .c = ds});
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    backward_row<T>(head, tile, i,
                    {.probabilities = probabilities.row(i),
                     .dscores = dscores.row(i),
                     .lse = o.lse[(tile.query + i) * head.dims.micro * head.dims.a],
                     .inner = inner[static_cast<std::size_t>(i)]});
  }
  product_tn<T>(
      {.a = p.readable(), .b = part_q(o.dout), .c = part_k(o.dv), .update = Update::accumulate});
  product_nn<T>({.a = ds.readable(),
                 .b = part_k(o.k),
                 .c = part_q(o.dq),
                 .alpha = head.scale,
                 .update = Update::accumulate});
  product_tn<T>({.a = ds.readable(),
                 .b = part_q(o.q),
                 .c = part_k(o.dk),
                 .alpha = head.scale,
                 .update = Update::accumulate});
}

template <class T>
void backward_queries(const HeadContext<T>& head, const BackwardBlocks<T>& o, std::int64_t query,
                      std::int64_t rows) {
  using ConstRow = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;
  PerQuery<T> inner;
  for (std::int64_t i = 0; i < rows; ++i) {
    const ConstRow out(o.out.data + (query + i) * o.out.stride, o.out.columns);
    const ConstRow dout(o.dout.data + (query + i) * o.dout.stride, o.dout.columns);
    inner[static_cast<std::size_t>(i)] = (out * dout).sum();
  }
  for_each_tile(head, query, rows,
                [&](const TileAt& tile) { backward_tile(head, o, tile, inner); });
}

template <class F>
void for_each_query_tile(const AttentionDims& dims, F visit) {
  for (std::int64_t query = 0; query < dims.s; query += kFlashQueries) {
    visit(query, std::min(kFlashQueries, dims.s - query));
  }
}

}  // namespace

template <class T>
void flash_fwd(const AttentionDims& dims, const FlashOptions& options, const T* qkv, T* out,
               T* lse) {
  const AttentionBlock whole{.dims = dims, .keys = dims.s, .query_at = {}, .key_at = {}};
  for_each_head(dims, [&](const Head& at) {
    const HeadContext<T> head(whole, options, at);
    const ForwardBlocks<T> blocks{.q = queries_of(dims, at, qkv),
                                  .k = keys_of(dims, at, qkv),
                                  .v = values_of(dims, at, qkv),
                                  .out = outputs_of(dims, at, out),
                                  .lse = lse + dims.row(at.sample, 0) * dims.a + at.head};
    for_each_query_tile(dims, [&](std::int64_t query, std::int64_t rows) {
      forward_queries(head, blocks, query, rows);
    });
  });
}

template <class T>
void flash_bwd(const AttentionDims& dims, const FlashOptions& options, const FlashBackward<T>& o) {
  std::fill(o.dqkv, o.dqkv + dims.micro * dims.s * dims.width(), T{});
  const AttentionBlock whole{.dims = dims, .keys = dims.s, .query_at = {}, .key_at = {}};
  for_each_head(dims, [&](const Head& at) {
    const HeadContext<T> head(whole, options, at);
    const BackwardBlocks<T> blocks{.q = queries_of(dims, at, o.qkv),
                                   .k = keys_of(dims, at, o.qkv),
                                   .v = values_of(dims, at, o.qkv),
                                   .out = outputs_of(dims, at, o.out),
                                   .dout = outputs_of(dims, at, o.dout),
                                   .dq = queries_of(dims, at, o.dqkv),
                                   .dk = keys_of(dims, at, o.dqkv),
                                   .dv = values_of(dims, at, o.dqkv),
                                   .lse = o.lse + dims.row(at.sample, 0) * dims.a + at.head};
    for_each_query_tile(dims, [&](std::int64_t query, std::int64_t rows) {
      backward_queries(head, blocks, query, rows);
    });
  });
}

namespace {

/// Keys and values of one head in kv (keys micro, k (d + dv)).
template <class T>
Block<T> block_keys(const AttentionBlock& block, const Head& at, T* kv) {
  return {kv + block.key(at.sample, 0, at.head), block.keys, block.dims.d,
          block.dims.micro * block.key_width()};
}
template <class T>
Block<T> block_values(const AttentionBlock& block, const Head& at, T* kv) {
  return {kv + block.value(at.sample, 0, at.head), block.keys, block.dims.value_width(),
          block.dims.micro * block.key_width()};
}

/// Queries of one head in a tensor of them alone (t, a d).
template <class T>
Block<T> block_queries(const AttentionBlock& block, const Head& at, T* q) {
  const AttentionDims& dims = block.dims;
  return {q + block.query({.sample = at.sample, .head = at.head, .query = 0}), dims.s, dims.d,
          dims.micro * dims.a * dims.d};
}

}  // namespace

template <class T>
void flash_block_fwd(const AttentionBlock& block, const FlashOptions& options,
                     const FlashBlockForward<T>& o) {
  const AttentionDims& dims = block.dims;
  for_each_head(dims, [&](const Head& at) {
    const HeadContext<T> head(block, options, at);
    const ForwardBlocks<T> blocks{.q = queries_of(dims, at, o.qkv),
                                  .k = block_keys(block, at, o.kv),
                                  .v = block_values(block, at, o.kv),
                                  .out = outputs_of(dims, at, o.out),
                                  .lse = o.lse + dims.row(at.sample, 0) * dims.a + at.head};
    for_each_query_tile(dims, [&](std::int64_t query, std::int64_t rows) {
      forward_queries(head, blocks, query, rows);
    });
  });
}

template <class T>
void flash_block_bwd(const AttentionBlock& block, const FlashOptions& options,
                     const FlashBlockBackward<T>& o) {
  const AttentionDims& dims = block.dims;
  std::fill(o.dkv, o.dkv + block.keys * dims.micro * block.key_width(), T{});
  for_each_head(dims, [&](const Head& at) {
    const HeadContext<T> head(block, options, at);
    const BackwardBlocks<T> blocks{.q = queries_of(dims, at, o.qkv),
                                   .k = block_keys(block, at, o.kv),
                                   .v = block_values(block, at, o.kv),
                                   .out = outputs_of(dims, at, o.out),
                                   .dout = outputs_of(dims, at, o.dout),
                                   .dq = block_queries(block, at, o.dq),
                                   .dk = block_keys(block, at, o.dkv),
                                   .dv = block_values(block, at, o.dkv),
                                   .lse = o.lse + dims.row(at.sample, 0) * dims.a + at.head};
    for_each_query_tile(dims, [&](std::int64_t query, std::int64_t rows) {
      backward_queries(head, blocks, query, rows);
    });
  });
}

template void flash_block_fwd(const AttentionBlock&, const FlashOptions&,
                              const FlashBlockForward<float>&);
template void flash_block_fwd(const AttentionBlock&, const FlashOptions&,
                              const FlashBlockForward<double>&);
template void flash_block_bwd(const AttentionBlock&, const FlashOptions&,
                              const FlashBlockBackward<float>&);
template void flash_block_bwd(const AttentionBlock&, const FlashOptions&,
                              const FlashBlockBackward<double>&);
template void flash_fwd(const AttentionDims&, const FlashOptions&, const float*, float*, float*);
template void flash_fwd(const AttentionDims&, const FlashOptions&, const double*, double*, double*);
template void flash_bwd(const AttentionDims&, const FlashOptions&, const FlashBackward<float>&);
template void flash_bwd(const AttentionDims&, const FlashOptions&, const FlashBackward<double>&);

}  // namespace windtunnel::cpu
