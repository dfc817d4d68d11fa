#pragma once
// Sizes of one transformer layer on one rank, and the element types of its tensors.

#include "plan/role_draft.h"

namespace windtunnel {

struct LayerSizes {
  std::int64_t micro, sequence;  // sequence: of this cp rank
  std::int64_t rows;             // T: micro * sequence
  std::int64_t norm_rows;        // rows of the sequence-parallel regions: T/tp, else T
  std::int64_t hidden;
  std::int64_t heads, kv_heads, head_dim;  // of this rank
  std::int64_t value_dim;                  // of a value head: d but in latent attention
  std::int64_t query, qkv;  // widths of this rank: a dv (the context), (a + k) d + k dv
  std::int64_t keys;        // ... k (d + dv): of keys and values, behind a d of queries
  std::int64_t ffn, fc1;    // f of this rank, and 2f when gated
  std::int64_t scores;      // micro * a * s * s
  Dtype act;                // activations
  std::uint16_t norm_attr;  // kSequenceShard under sequence parallel

  explicit LayerSizes(const RoleDraft& d);
  /// Of the core attention where `ranks` exchange sequence for heads before it.
  LayerSizes of_core(int ranks) const;
  std::int64_t qkv_bytes() const { return bytes_of(act, rows * qkv); }
  std::int64_t key_value_bytes() const { return bytes_of(act, rows * keys); }
};

}  // namespace windtunnel
