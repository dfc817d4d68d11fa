#include "kernels/cpu/attention.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "kernels/cpu/head_blocks.h"

namespace windtunnel::cpu {

namespace {

using reference::Update;

template <class T>
using Row = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
template <class T>
using ConstRow = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

/// The heads that share a key and value head add up in its gradient; the first sets it.
Update update_of(const AttentionDims& dims, const Head& at) {
  return at.head % (dims.a / dims.k) == 0 ? Update::overwrite : Update::accumulate;
}

/// scores (s) of one query -> probabilities (s), may be in place
template <class T>
struct SoftmaxRow {
  const T* scores;
  T* probabilities;
  std::int64_t query, first, keys;  // sees keys [first, keys)
  T slope;
};

template <class T>
void softmax(const SoftmaxRow<T>& o) {
  std::fill(o.probabilities, o.probabilities + o.first, T{});
  for (std::int64_t j = o.first; j < o.keys; ++j) {
    o.probabilities[j] = o.scores[j] - o.slope * static_cast<T>(o.query - j);
  }
  Row<T> p(o.probabilities + o.first, o.keys - o.first);
  p = (p - p.maxCoeff()).exp();
  p *= 1 / p.sum();
}

}  // namespace

template <class T>
void scores_fwd(const AttentionDims& dims, const T* qkv, T* scores) {
  const T scale = reference::score_scale<T>(dims.d);
  for_each_head(dims, [&](const Head& at) {
    product_nt<T>({.a = queries_of(dims, at, qkv),
                   .b = keys_of(dims, at, qkv),
                   .c = scores_of(dims, at, scores),
                   .alpha = scale});
  });
}

template <class T>
void softmax_fwd(const AttentionDims& dims, const AttentionMask& mask, const T* scores,
                 T* probabilities) {
  for_each_head(dims, [&](const Head& at) {
    const T slope = mask.bias == reference::Bias::alibi
                        ? reference::alibi_slope<T>(mask.first_head + at.head, mask.heads)
                        : T{};
    for (std::int64_t query = 0; query < dims.s; ++query) {
      const std::int64_t from = dims.score(at.sample, at.head, query);
      const std::int64_t keys = mask.keys(query, dims.s);
      softmax<T>({.scores = scores + from,
                  .probabilities = probabilities + from,
                  .query = query,
                  .first = mask.first_key(query),
                  .keys = keys,
                  .slope = slope});
      std::fill(probabilities + from + keys, probabilities + from + dims.s, T{});
    }
  });
}

template <class T>
void context_fwd(const AttentionDims& dims, const T* probabilities, const T* qkv, T* out) {
  for_each_head(dims, [&](const Head& at) {
    product_nn<T>({.a = scores_of(dims, at, probabilities),
                   .b = values_of(dims, at, qkv),
                   .c = outputs_of(dims, at, out)});
  });
}

template <class T>
void context_bwd(const AttentionDims& dims, const ContextBackward<T>& o) {
  for_each_head(dims, [&](const Head& at) {
    const Block<const T> dout = outputs_of(dims, at, o.dout);
    product_nt<T>(
        {.a = dout, .b = values_of(dims, at, o.qkv), .c = scores_of(dims, at, o.dprobabilities)});
    product_tn<T>({.a = scores_of(dims, at, o.probabilities),
                   .b = dout,
                   .c = values_of(dims, at, o.dqkv),
                   .update = update_of(dims, at)});
  });
}

template <class T>
void softmax_bwd(const AttentionDims& dims, const AttentionMask& mask, const T* dprobabilities,
                 const T* probabilities, T* dscores) {
  for_each_head(dims, [&](const Head& at) {
    for (std::int64_t query = 0; query < dims.s; ++query) {
      const std::int64_t from = dims.score(at.sample, at.head, query);
      const std::int64_t keys = mask.keys(query, dims.s);
      const std::int64_t first = mask.first_key(query), n = keys - first;
      const ConstRow<T> p(probabilities + from + first, n), dp(dprobabilities + from + first, n);
      const T inner = (p * dp).sum();
      std::fill(dscores + from, dscores + from + first, T{});
      Row<T>(dscores + from + first, n) = p * (dp - inner);
      std::fill(dscores + from + keys, dscores + from + dims.s, T{});
    }
  });
}

template <class T>
void scores_bwd(const AttentionDims& dims, const T* dscores, const T* qkv, T* dqkv) {
  const T scale = reference::score_scale<T>(dims.d);
  for_each_head(dims, [&](const Head& at) {
    const Block<const T> ds = scores_of(dims, at, dscores);
    product_nn<T>(
        {.a = ds, .b = keys_of(dims, at, qkv), .c = queries_of(dims, at, dqkv), .alpha = scale});
    product_tn<T>({.a = ds,
                   .b = queries_of(dims, at, qkv),
                   .c = keys_of(dims, at, dqkv),
                   .alpha = scale,
                   .update = update_of(dims, at)});
  });
}

template void scores_fwd(const AttentionDims&, const float*, float*);
template void scores_fwd(const AttentionDims&, const double*, double*);
template void softmax_fwd(const AttentionDims&, const AttentionMask&, const float*, float*);
template void softmax_fwd(const AttentionDims&, const AttentionMask&, const double*, double*);
template void context_fwd(const AttentionDims&, const float*, const float*, float*);
template void context_fwd(const AttentionDims&, const double*, const double*, double*);
template void context_bwd(const AttentionDims&, const ContextBackward<float>&);
template void context_bwd(const AttentionDims&, const ContextBackward<double>&);
template void softmax_bwd(const AttentionDims&, const AttentionMask&, const float*, const float*,
                          float*);
template void softmax_bwd(const AttentionDims&, const AttentionMask&, const double*, const double*,
                          double*);
template void scores_bwd(const AttentionDims&, const float*, const float*, float*);
template void scores_bwd(const AttentionDims&, const double*, const double*, double*);

}  // namespace windtunnel::cpu
