#pragma once
// Which experts a token goes to, and where its copies lie.
//
// The choice is not the router's: it is a function of (layer, token, k), the same for a plan and
// its one device and in both executors, so that sizes are known before anything runs and both route
// alike. What the router says of the chosen experts, their probabilities, is real.
//
// Evenly: the choices of a micro-batch, token after token and context-parallel rank after rank, go
// around the experts, from a start that a hash of the layer and the micro-batch gives. By hash:
// each choice is drawn; a token's choices differ, the next expert is taken when one is drawn again.
//
// Permuted rows: every expert has `capacity` rows for each of `parts` equal parts of the rank's
// tokens (a part is what one rank of the plan holds, so that where the plan shares sequences out
// among `ring` ranks the one device's parts are theirs); row (expert, part, place). A choice beyond
// the capacity, in order of tokens, has no row.

#include <cmath>
#include <cstdint>

#include "core/counter_random.h"
#include "kernels/reference/number.h"
#include "kernels/reference/placement.h"

namespace windtunnel::reference {

struct RoutingDims {
  std::int64_t t = 0, experts = 0, k = 0;
  std::int64_t capacity = 0, parts = 1;
  std::int64_t ring = 1;  // context-parallel ranks whose tokens are all here

  std::int64_t rows() const { return experts * parts * capacity; }
  std::int64_t row(std::int64_t expert, std::int64_t part, std::int64_t place) const {
    return (expert * parts + part) * capacity + place;
  }
  /// What stands for a choice without a row; it still names its expert.
  std::int64_t no_row(std::int64_t expert) const { return rows() + expert; }
  std::int64_t expert_of(std::int64_t row) const {
    return row < rows() ? row / (parts * capacity) : row - rows();
  }
};

struct RoutingSource {
  std::uint64_t seed = 0;
  std::int64_t layer = 0, sequence = 1;
  bool hashed = false;
  RowPlacement rows;

  std::uint64_t counter() const { return static_cast<std::uint64_t>(layer); }
  /// A token's place when those of context-parallel ranks stand one rank after the other.
  std::int64_t place(const RoutingDims& d, std::int64_t token) const {
    if (d.ring == 1) {
      const ZigZag& at = rows.positions;
      return at.place * 2 * at.half * rows.micro + rows.first_row + token;
    }
    const ZigZag all{.half = sequence / (2 * d.ring), .ring = d.ring};
    return all.by_rank(rows.position(token)) * rows.micro + token % rows.micro;
  }
  std::int64_t even(const RoutingDims& d, std::int64_t token, std::int64_t k) const {
    const std::uint64_t start =
        counter_hash(seed, counter(), static_cast<std::uint64_t>(rows.first_sample));
    const std::int64_t choice = place(d, token) * d.k + k;
    const auto experts = static_cast<std::uint64_t>(d.experts);
    return static_cast<std::int64_t>((start % experts + static_cast<std::uint64_t>(choice)) %
                                     experts);
  }
  std::int64_t drawn(const RoutingDims& d, std::int64_t token, std::int64_t k) const {
    const std::int64_t global = rows.sample(token) * sequence + rows.position(token);
    return static_cast<std::int64_t>(counter_hash(seed, counter(),
                                                  static_cast<std::uint64_t>(global),
                                                  static_cast<std::uint64_t>(k)) %
                                     static_cast<std::uint64_t>(d.experts));
  }
};

/// Expert of choice k of a token whose earlier choices are in `rows`.
template <class Token>
std::int64_t chosen_expert(const RoutingDims& d, const RoutingSource& source, std::int64_t token,
                           std::int64_t k, const Token* rows) {
  if (!source.hashed) return source.even(d, token, k);
  std::int64_t expert = source.drawn(d, token, k);
  for (std::int64_t j = 0; j < k;) {
    const bool taken = d.expert_of(to_integer(rows[token * d.k + j])) == expert;
    expert = taken ? (expert + 1) % d.experts : expert;
    j = taken ? 0 : j + 1;
  }
  return expert;
}

/// rows (t, k), counts (parts, experts). Precondition: parts divides t.
template <class T, class Token>
void choose_experts(const RoutingDims& d, const RoutingSource& source, Token* rows, T* counts) {
  for (std::int64_t i = 0; i < d.parts * d.experts; ++i) counts[i] = T{};
  const std::int64_t per_part = d.t / d.parts;
  for (std::int64_t token = 0; token < d.t; ++token) {
    const std::int64_t part = (d.ring == 1 ? token : source.place(d, token)) / per_part;
    for (std::int64_t k = 0; k < d.k; ++k) {
      const std::int64_t expert = chosen_expert(d, source, token, k, rows);
      T& count = counts[part * d.experts + expert];
      const auto place = to_integer(count);
      const bool fits = place < d.capacity;
      rows[token * d.k + k] =
          to_element<Token>(fits ? d.row(expert, part, place) : d.no_row(expert));
      if (fits) count = Number<T>::integer(place + 1);
    }
  }
}

enum class Score : std::uint8_t { softmax, sigmoid };

/// Probabilities of a token's chosen experts: the softmax of their logits, or their sigmoids over
/// the sum of these (DeepSeek-V3, arXiv 2412.19437, section 2.1.2). In the field the logit itself.
template <class T, class Token>
void route_fwd(const RoutingDims& d, Score score, const T* logits, const Token* rows, T* probs) {
  for (std::int64_t token = 0; token < d.t; ++token) {
    const T* of_token = logits + token * d.experts;
    const auto logit = [&](std::int64_t k) {
      return of_token[d.expert_of(to_integer(rows[token * d.k + k]))];
    };
    T* p = probs + token * d.k;
    if constexpr (Number<T>::exact) {
      for (std::int64_t k = 0; k < d.k; ++k) p[k] = logit(k);
    } else {
      double largest = static_cast<double>(logit(0)), sum = 0.0;
      for (std::int64_t k = 1; k < d.k; ++k)
        largest = std::fmax(largest, static_cast<double>(logit(k)));
      const auto value = [&](std::int64_t k) {
        const auto x = static_cast<double>(logit(k));
        return score == Score::softmax ? std::exp(x - largest) : 1.0 / (1.0 + std::exp(-x));
      };
      for (std::int64_t k = 0; k < d.k; ++k) sum += value(k);
      for (std::int64_t k = 0; k < d.k; ++k) p[k] = static_cast<T>(value(k) / sum);
    }
  }
}

/// dlogit_j = p_j (dp_j - sum_k p_k dp_k) slope_j, with slope 1 (softmax) or 1 - sigmoid_j.
template <class T, class Token>
struct RouteBackward {
  const T* dprobs;    // (t, k)
  const T* logits;    // (t, experts)
  const Token* rows;  // (t, k)
  T* dlogits;         // (t, experts)
};

template <class T, class Token>
void route_bwd(const RoutingDims& d, Score score, const RouteBackward<T, Token>& o) {
  for (std::int64_t i = 0; i < d.t * d.experts; ++i) o.dlogits[i] = T{};
  for (std::int64_t token = 0; token < d.t; ++token) {
    const T* dp = o.dprobs + token * d.k;
    const auto expert = [&](std::int64_t k) {
      return token * d.experts + d.expert_of(to_integer(o.rows[token * d.k + k]));
    };
    if constexpr (Number<T>::exact) {
      for (std::int64_t k = 0; k < d.k; ++k) o.dlogits[expert(k)] = dp[k];
    } else {
      const auto logit = [&](std::int64_t k) { return static_cast<double>(o.logits[expert(k)]); };
      double largest = logit(0);
      for (std::int64_t k = 1; k < d.k; ++k) largest = std::fmax(largest, logit(k));
      const auto sigmoid = [&](std::int64_t k) { return 1.0 / (1.0 + std::exp(-logit(k))); };
      const auto value = [&](std::int64_t k) {
        return score == Score::softmax ? std::exp(logit(k) - largest) : sigmoid(k);
      };
      double sum = 0.0, inner = 0.0;
      for (std::int64_t k = 0; k < d.k; ++k) sum += value(k);
      for (std::int64_t k = 0; k < d.k; ++k) inner += value(k) / sum * static_cast<double>(dp[k]);
      for (std::int64_t k = 0; k < d.k; ++k) {
        const double slope = score == Score::softmax ? 1.0 : 1.0 - sigmoid(k);
        o.dlogits[expert(k)] =
            static_cast<T>(value(k) / sum * (static_cast<double>(dp[k]) - inner) * slope);
      }
    }
  }
}

}  // namespace windtunnel::reference
