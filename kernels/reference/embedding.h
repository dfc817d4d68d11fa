#pragma once
// Tokens, the vocabulary-parallel word embedding and the learned position embedding.
//
// Token ids have an element type of their own; as numbers T they are far below the field's prime.

#include <cstdint>

#include "core/counter_random.h"
#include "kernels/reference/number.h"
#include "kernels/reference/placement.h"

namespace windtunnel::reference {

/// Where tokens come from: token(sample, position) = hash(seed, sample, position) mod vocab.
struct TokenSource {
  std::uint64_t seed = 0;
  std::int64_t vocab = 1;
  std::int64_t shift = 0;  // 0 for inputs, 1 for labels: the next token
};

inline std::int64_t token_at(const TokenSource& source, std::int64_t sample,
                             std::int64_t position) {
  return static_cast<std::int64_t>(counter_hash(source.seed, static_cast<std::uint64_t>(sample),
                                                static_cast<std::uint64_t>(position)) %
                                   static_cast<std::uint64_t>(source.vocab));
}

/// tokens (t)
template <class Token>
void load_tokens(const TokenSource& source, const RowPlacement& rows, std::int64_t t,
                 Token* tokens) {
  for (std::int64_t r = 0; r < t; ++r) {
    tokens[r] =
        to_element<Token>(token_at(source, rows.sample(r), rows.position(r) + source.shift));
  }
}

/// This rank holds rows [first_row, first_row + v) of the table.
struct EmbeddingDims {
  std::int64_t t = 0, h = 0, v = 0, first_row = 0;

  bool owns(std::int64_t token) const { return token >= first_row && token < first_row + v; }
};

/// tokens (t), table (v, h) -> y (t, h); rows of other ranks give 0.
template <class T, class Token>
void embedding_fwd(const EmbeddingDims& dims, const Token* tokens, const T* table, T* y) {
  for (std::int64_t r = 0; r < dims.t; ++r) {
    const std::int64_t token = to_integer(tokens[r]);
    const bool owned = dims.owns(token);
    const std::int64_t row = owned ? token - dims.first_row : 0;
    for (std::int64_t c = 0; c < dims.h; ++c) {
      y[r * dims.h + c] = owned ? table[row * dims.h + c] : T{};
    }
  }
}

/// tokens (t), dy (t, h) -> dtable (v, h) +=
template <class T, class Token>
void embedding_bwd(const EmbeddingDims& dims, const Token* tokens, const T* dy, T* dtable) {
  for (std::int64_t r = 0; r < dims.t; ++r) {
    const std::int64_t token = to_integer(tokens[r]);
    if (!dims.owns(token)) continue;
    T* row = dtable + (token - dims.first_row) * dims.h;
    for (std::int64_t c = 0; c < dims.h; ++c) row[c] += dy[r * dims.h + c];
  }
}

struct PositionDims {
  std::int64_t t = 0, h = 0;
};

/// x (t, h), table (s, h) -> y (t, h)
template <class T>
void position_fwd(const PositionDims& dims, const RowPlacement& rows, const T* x, const T* table,
                  T* y) {
  for (std::int64_t r = 0; r < dims.t; ++r) {
    const T* row = table + rows.position(r) * dims.h;
    for (std::int64_t c = 0; c < dims.h; ++c) y[r * dims.h + c] = x[r * dims.h + c] + row[c];
  }
}

/// dy (t, h) -> dtable (s, h) +=
template <class T>
void position_bwd(const PositionDims& dims, const RowPlacement& rows, const T* dy, T* dtable) {
  for (std::int64_t r = 0; r < dims.t; ++r) {
    T* row = dtable + rows.position(r) * dims.h;
    for (std::int64_t c = 0; c < dims.h; ++c) row[c] += dy[r * dims.h + c];
  }
}

}  // namespace windtunnel::reference
