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
};

/// What the tiles of one head have in common.
template <class T>
struct HeadContext {
  const AttentionDims& dims;
  const FlashOptions& options;
  Head at;
  T scale, slope, keep_scale;

  HeadContext(const AttentionDims& d, const FlashOptions& o, const Head& head)
      : dims(d),
        options(o),
        at(head),
        scale(reference::score_scale<T>(d.d)),
        slope(o.mask.bias == reference::Bias::alibi
                  ? reference::alibi_slope<T>(o.mask.first_head + head.head, o.mask.heads)
                  : T{}),
        keep_scale(o.dropout ? reference::keep_scale<T>(o.dropout->key) : T{1}) {}

  /// How many of a tile's keys row i of it sees.
  std::int64_t visible(const TileAt& tile, std::int64_t i) const {
    return std::clamp<std::int64_t>(options.mask.keys(tile.query + i, dims.s) - tile.key, 0,
                                    tile.columns);
  }
  RowDraws draws(std::int64_t query) const {
    const std::int64_t r = (at.sample * dims.a + at.head) * dims.s + query;
    return {options.dropout->key, options.dropout->elements.row(r)};
  }
  /// Subtracts the distances' penalty from n scores of row i.
  void add_bias(const TileAt& tile, std::int64_t i, std::int64_t n, T* scores) const {
    if (options.mask.bias == reference::Bias::none) return;
    const std::int64_t distance = tile.query + i - tile.key;
    const T per_position = slope;  // a copy that `scores` cannot alias
    for (std::int64_t j = 0; j < n; ++j) scores[j] -= per_position * static_cast<T>(distance - j);
  }
  /// factors (n) of row i: 0 or 1 / (1 - p).
  void dropout_factors(const TileAt& tile, std::int64_t i, std::int64_t n, T* factors) const {
    const RowDraws row = draws(tile.query + i);
    const T kept = keep_scale;
    for (std::int64_t j = 0; j < n; ++j) factors[j] = row.kept(tile.key + j) ? kept : T{};
  }
};

/// Calls visit for the tiles of `rows` queries from `query` on that hold a visible key.
template <class T, class F>
void for_each_tile(const HeadContext<T>& head, std::int64_t query, std::int64_t rows, F visit) {
  const std::int64_t keys = head.options.mask.keys(query + rows - 1, head.dims.s);
  for (std::int64_t key = 0; key < keys; key += kKeys<T>) {
    visit(TileAt{
        .query = query, .key = key, .rows = rows, .columns = std::min(kKeys<T>, keys - key)});
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
  const std::int64_t n = head.visible(tile, i);
  std::fill(scores + n, scores + tile.columns, T{});
  if (n == 0) return;
  head.add_bias(tile, i, n, scores);
  Row<T> p(scores, n);
  const T largest = std::max(running.largest[u], p.maxCoeff());
  const T correction = std::exp(running.largest[u] - largest);
  p = (p - largest).exp();
  running.sum[u] = running.sum[u] * correction + p.sum();
  running.largest[u] = largest;
  if (tile.key > 0 && correction != T{1}) {
    Row<T>(running.out.data + i * running.out.stride, head.dims.d) *= correction;
  }
  if (head.options.dropout) {
    alignas(64) std::array<T, kKeys<T>> factors;
    head.dropout_factors(tile, i, n, factors.data());
    p *= Row<T>(factors.data(), n);
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
  const std::int64_t d = head.dims.d;
  Tile<T> scores;
  const Block<T> out = o.out.part(query, 0, rows, d);
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
                   .b = o.v.part(tile.key, 0, tile.columns, d),
                   .c = out,
                   .update = tile.key == 0 ? Update::overwrite : Update::accumulate});
  });
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto u = static_cast<std::size_t>(i);
    Row<T>(out.data + i * out.stride, d) *= 1 / running.sum[u];
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
  const std::int64_t n = head.visible(tile, i);
  std::fill(o.probabilities + n, o.probabilities + tile.columns, T{});
  std::fill(o.dscores + n, o.dscores + tile.columns, T{});
  if (n == 0) return;
  head.add_bias(tile, i, n, o.probabilities);
  Row<T> p(o.probabilities, n), ds(o.dscores, n);
  p = (p - o.lse).exp();
  if (head.options.dropout) {
    alignas(64) std::array<T, kKeys<T>> values;
    head.dropout_factors(tile, i, n, values.data());
    const Row<T> factors(values.data(), n);
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
  const std::int64_t d = head.dims.d;
  Tile<T> probabilities, dscores;
  const auto part_q = [&](const auto& b) { return b.part(tile.query, 0, tile.rows, d); };
  const auto part_k = [&](const auto& b) { return b.part(tile.key, 0, tile.columns, d); };
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
    const ConstRow out(o.out.data + (query + i) * o.out.stride, head.dims.d);
    const ConstRow dout(o.dout.data + (query + i) * o.dout.stride, head.dims.d);
    inner[static_cast<std::size_t>(i)] = (out * dout).sum();
  }
  for_each_tile(head, query, rows,
                [&](const TileAt& tile) { backward_tile(head, o, tile, inner); });
}

}  // namespace

template <class T>
void flash_fwd(const AttentionDims& dims, const FlashOptions& options, const T* qkv, T* out,
               T* lse) {
  for_each_head(dims, [&](const Head& at) {
    const HeadContext<T> head(dims, options, at);
    const ForwardBlocks<T> blocks{.q = queries_of(dims, at, qkv),
                                  .k = keys_of(dims, at, qkv),
                                  .v = values_of(dims, at, qkv),
                                  .out = outputs_of(dims, at, out),
                                  .lse = lse + dims.row(at.sample, 0) * dims.a + at.head};
    for (std::int64_t query = 0; query < dims.s; query += kFlashQueries) {
      forward_queries(head, blocks, query, std::min(kFlashQueries, dims.s - query));
    }
  });
}

template <class T>
void flash_bwd(const AttentionDims& dims, const FlashOptions& options, const FlashBackward<T>& o) {
  std::fill(o.dqkv, o.dqkv + dims.micro * dims.s * dims.width(), T{});
  for_each_head(dims, [&](const Head& at) {
    const HeadContext<T> head(dims, options, at);
    const BackwardBlocks<T> blocks{.q = queries_of(dims, at, o.qkv),
                                   .k = keys_of(dims, at, o.qkv),
                                   .v = values_of(dims, at, o.qkv),
                                   .out = outputs_of(dims, at, o.out),
                                   .dout = outputs_of(dims, at, o.dout),
                                   .dq = queries_of(dims, at, o.dqkv),
                                   .dk = keys_of(dims, at, o.dqkv),
                                   .dv = values_of(dims, at, o.dqkv),
                                   .lse = o.lse + dims.row(at.sample, 0) * dims.a + at.head};
    for (std::int64_t query = 0; query < dims.s; query += kFlashQueries) {
      backward_queries(head, blocks, query, std::min(kFlashQueries, dims.s - query));
    }
  });
}

template void flash_fwd(const AttentionDims&, const FlashOptions&, const float*, float*, float*);
template void flash_fwd(const AttentionDims&, const FlashOptions&, const double*, double*, double*);
template void flash_bwd(const AttentionDims&, const FlashOptions&, const FlashBackward<float>&);
template void flash_bwd(const AttentionDims&, const FlashOptions&, const FlashBackward<double>&);

}  // namespace windtunnel::cpu
