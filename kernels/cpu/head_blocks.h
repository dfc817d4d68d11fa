#pragma once
// The matrices of one (sample, head) inside the tensors of attention: rows are positions, `micro`
// rows of the tensor apart.

#include <cstdint>

#include "kernels/cpu/product.h"
#include "kernels/reference/attention.h"

namespace windtunnel::cpu {

using reference::AttentionDims;

struct Head {
  std::int64_t sample, head;
};

/// (s, d) each, values and outputs (s, dv); T may be const.
template <class T>
Block<T> queries_of(const AttentionDims& dims, const Head& at, T* qkv) {
  return {qkv + dims.query(at.sample, 0, at.head), dims.s, dims.d, dims.micro * dims.width()};
}

template <class T>
Block<T> keys_of(const AttentionDims& dims, const Head& at, T* qkv) {
  return {qkv + dims.key(at.sample, 0, at.head), dims.s, dims.d, dims.micro * dims.width()};
}

template <class T>
Block<T> values_of(const AttentionDims& dims, const Head& at, T* qkv) {
  return {qkv + dims.value(at.sample, 0, at.head), dims.s, dims.value_width(),
          dims.micro * dims.width()};
}

template <class T>
Block<T> outputs_of(const AttentionDims& dims, const Head& at, T* out) {
  const std::int64_t width = dims.value_width();
  return {out + dims.out(at.sample, 0, at.head), dims.s, width, dims.micro * dims.a * width};
}

/// (s, s)
template <class T>
Block<T> scores_of(const AttentionDims& dims, const Head& at, T* scores) {
  return {scores + dims.score(at.sample, at.head, 0), dims.s, dims.s, dims.s};
}

template <class F>
void for_each_head(const AttentionDims& dims, F visit) {
  for (std::int64_t sample = 0; sample < dims.micro; ++sample) {
    for (std::int64_t head = 0; head < dims.a; ++head) {
      visit(Head{.sample = sample, .head = head});
    }
  }
}

}  // namespace windtunnel::cpu
