#include "kernels/cpu/loss.h"

#include <Eigen/Core>
#include <algorithm>

namespace windtunnel::cpu {

namespace {

template <class T>
using Row = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
template <class T>
using ConstRow = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

/// A row's part in one block of columns: elements from `at` on, first those of the vocabulary, then
/// padding.
struct Segment {
  std::int64_t at, real, padding;
};

template <class F>
void for_each_segment(const LossDims& dims, std::int64_t row, F visit) {
  for (std::int64_t block = 0; block < dims.blocks; ++block) {
    const std::int64_t real =
        std::clamp<std::int64_t>(dims.vocab - dims.first_column - block * dims.v, 0, dims.v);
    visit(Segment{.at = dims.at(row, block * dims.v), .real = real, .padding = dims.v - real});
  }
}

/// Where a row's label is among this rank's logits, or -1.
template <class Label>
std::int64_t label_at(const LossDims& dims, std::int64_t row, Label label) {
  const std::int64_t column = reference::to_integer(label) - dims.first_column;
  const bool here = column >= 0 && column < dims.columns() && dims.real(column);
  return here ? dims.at(row, column) : -1;
}

/// x (n) -> exp(x - largest); returns their sum. Chunks keep what is added to each other of one
/// size.
template <class T>
double exponentials(std::int64_t n, T largest, const T* x, T* y) {
  constexpr std::int64_t kChunk = 1024;
  double sum = 0.0;
  for (std::int64_t c = 0; c < n; c += kChunk) {
    Row<T> out(y + c, std::min(kChunk, n - c));
    out = (ConstRow<T>(x + c, out.size()) - largest).exp();
    sum += static_cast<double>(out.sum());
  }
  return sum;
}

}  // namespace

template <class T>
void ce_max(const LossDims& dims, const T* logits, T* maxima) {
  for (std::int64_t r = 0; r < dims.t; ++r) {
    T largest = std::numeric_limits<T>::lowest();
    for_each_segment(dims, r, [&](const Segment& s) {
      if (s.real == 0) return;
      largest = std::max(largest, ConstRow<T>(logits + s.at, s.real).maxCoeff());
    });
    maxima[r] = largest;
  }
}

template <class T, class Label>
void ce_partial(const LossDims& dims, const LossPartial<T, Label>& o) {
  for (std::int64_t r = 0; r < dims.t; ++r) {
    const std::int64_t label = label_at(dims, r, o.labels[r]);
    o.target[r] = label >= 0 ? o.logits[label] - o.maxima[r] : T{};  // before probs overwrite it
    double sum = 0.0;
    for_each_segment(dims, r, [&](const Segment& s) {
      T* probs = o.probs + s.at;
      sum += exponentials(s.real, o.maxima[r], o.logits + s.at, probs);
      std::fill_n(probs + s.real, s.padding, T{});
    });
    o.sum[r] = static_cast<T>(sum);
  }
}

template <class T, class Label>
void ce_bwd(const LossDims& dims, const T* probs, const T* sum, const Label* labels, T* dlogits) {
  const T factor = T{1} / static_cast<T>(dims.divisor);
  for (std::int64_t r = 0; r < dims.t; ++r) {
    const std::int64_t label = label_at(dims, r, labels[r]);
    const T at_label = label >= 0 ? (probs[label] / sum[r] - 1) * factor : T{};
    for_each_segment(dims, r, [&](const Segment& s) {
      Row<T>(dlogits + s.at, s.real) = ConstRow<T>(probs + s.at, s.real) * (factor / sum[r]);
      std::fill_n(dlogits + s.at + s.real, s.padding, T{});
    });
    if (label >= 0) dlogits[label] = at_label;
  }
}

template void ce_max(const LossDims&, const float*, float*);
template void ce_max(const LossDims&, const double*, double*);

template void ce_partial(const LossDims&, const LossPartial<float, float>&);
template void ce_partial(const LossDims&, const LossPartial<float, std::int64_t>&);
template void ce_partial(const LossDims&, const LossPartial<double, double>&);
template void ce_partial(const LossDims&, const LossPartial<double, std::int64_t>&);
template void ce_bwd(const LossDims&, const float*, const float*, const float*, float*);
template void ce_bwd(const LossDims&, const float*, const float*, const std::int64_t*, float*);
template void ce_bwd(const LossDims&, const double*, const double*, const double*, double*);
template void ce_bwd(const LossDims&, const double*, const double*, const std::int64_t*, double*);

}  // namespace windtunnel::cpu
