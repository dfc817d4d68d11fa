#pragma once
// Heads of multi-head latent attention (DeepSeek-AI 2024, arXiv 2405.04434, section 2.1): each
// query head is [nope | rope], each key head its own nope part and the rope part that all heads
// share, each value head its own.
//
// q (t, a (n + r)) and kv (t, a (n + v)), a head's columns [nope | rope] and [nope | value], are
// what the up-projections make; k_rope (t, r) is shared. qkv (t, a (2 (n + r) + v)) is what the
// attention kernel reads (attention.h). Rope parts are rotated by position (rope.h).

#include <algorithm>
#include <cstdint>

#include "kernels/reference/rope.h"

namespace windtunnel::reference {

struct LatentDims {
  std::int64_t t = 0, heads = 0, nope = 0, rope = 0, value = 0;

  std::int64_t key() const { return nope + rope; }
  std::int64_t q_width() const { return heads * key(); }
  std::int64_t kv_width() const { return heads * (nope + value); }
  std::int64_t width() const { return heads * (2 * key() + value); }
};

template <class T>
struct LatentForward {
  const T* q;
  const T* kv;
  const T* k_rope;
  T* qkv;
};

template <class T>
void latent_heads_fwd(const LatentDims& d, const RowPlacement& rows, const LatentForward<T>& o) {
  for (std::int64_t row = 0; row < d.t; ++row) {
    const std::int64_t position = rows.position(row);
    T* out = o.qkv + row * d.width();
    for (std::int64_t head = 0; head < d.heads; ++head) {
      const T* q = o.q + row * d.q_width() + head * d.key();
      const T* kv = o.kv + row * d.kv_width() + head * (d.nope + d.value);
      T* query = out + head * d.key();
      T* key = out + (d.heads + head) * d.key();
      T* value = out + 2 * d.heads * d.key() + head * d.value;
      std::copy(q, q + d.nope, query);
      rotate(d.rope, position, Rotation::forward, q + d.nope, query + d.nope);
      std::copy(kv, kv + d.nope, key);
      rotate(d.rope, position, Rotation::forward, o.k_rope + row * d.rope, key + d.nope);
      std::copy(kv + d.nope, kv + d.nope + d.value, value);
    }
  }
}

template <class T>
struct LatentBackward {
  const T* dqkv;
  T* dq;
  T* dkv;
  T* dk_rope;  // the sum over this rank's heads
};

template <class T>
void latent_heads_bwd(const LatentDims& d, const RowPlacement& rows, const LatentBackward<T>& o) {
  for (std::int64_t row = 0; row < d.t; ++row) {
    const std::int64_t position = rows.position(row);
    const T* in = o.dqkv + row * d.width();
    T* shared = o.dk_rope + row * d.rope;
    std::fill(shared, shared + d.rope, T{});
    for (std::int64_t head = 0; head < d.heads; ++head) {
      const T* query = in + head * d.key();
      const T* key = in + (d.heads + head) * d.key();
      const T* value = in + 2 * d.heads * d.key() + head * d.value;
      T* dq = o.dq + row * d.q_width() + head * d.key();
      T* dkv = o.dkv + row * d.kv_width() + head * (d.nope + d.value);
      std::copy(query, query + d.nope, dq);
      rotate(d.rope, position, Rotation::transposed, query + d.nope, dq + d.nope);
      std::copy(key, key + d.nope, dkv);
      std::copy(value, value + d.value, dkv + d.nope);
      for (std::int64_t i = 0; i < d.rope; ++i) shared[i] += key[d.nope + i];
    }
    rotate(d.rope, position, Rotation::transposed, shared, shared);
  }
}

}  // namespace windtunnel::reference
