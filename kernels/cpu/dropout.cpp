#include "kernels/cpu/dropout.h"

#include "kernels/cpu/row_draws.h"

namespace windtunnel::cpu {

namespace {

/// One row of each kernel. Loops may run in any order: y is x or the residual, or apart from both,
/// and the mask is apart from all.
template <class T, class Mask>
struct DropRow {
  std::int64_t columns;
  const T* x;
  T* y;
  Mask* mask;
};

template <class T, class Mask>
void drop(const RowDraws& draws, T scale, const DropRow<T, Mask>& o) {
  const auto [columns, x, y, mask] = o;
#pragma GCC ivdep
  for (std::int64_t c = 0; c < columns; ++c) {
    const bool kept = draws.kept(c);
    mask[c] = static_cast<Mask>(kept ? 1 : 0);
    y[c] = kept ? x[c] * scale : T{};
  }
}

/// y = x scale + residual where kept, else residual.
template <class T, class Mask>
void drop_and_add(const RowDraws& draws, T scale, const DropRow<T, Mask>& o, const T* residual) {
  const auto [columns, x, y, mask] = o;
#pragma GCC ivdep
  for (std::int64_t c = 0; c < columns; ++c) {
    const bool kept = draws.kept(c);
    mask[c] = static_cast<Mask>(kept ? 1 : 0);
    y[c] = (kept ? x[c] * scale : T{}) + residual[c];
  }
}

template <class T, class Mask>
void drop_biased_and_add(const RowDraws& draws, T scale, const DropRow<T, Mask>& o,
                         const T* residual, const T* bias) {
  const auto [columns, x, y, mask] = o;
#pragma GCC ivdep
  for (std::int64_t c = 0; c < columns; ++c) {
    const bool kept = draws.kept(c);
    mask[c] = static_cast<Mask>(kept ? 1 : 0);
    y[c] = (kept ? (x[c] + bias[c]) * scale : T{}) + residual[c];
  }
}

}  // namespace

template <class T, class Mask, class Elements>
void dropout_fwd(const DropoutKey& key, const Elements& elements,
                 const DropoutForward<T, Mask>& o) {
  const T scale = reference::keep_scale<T>(key);
  for (std::int64_t r = 0; r < o.rows; ++r) {
    const std::int64_t at = r * o.columns;
    drop<T, Mask>(RowDraws(key, elements.row(r)), scale,
                  {o.columns, o.x + at, o.y + at, o.mask + at});
  }
}

template <class T, class Mask>
void dropout_add(const DropoutKey& key, const HiddenElements& elements,
                 const DropoutAdd<T, Mask>& o) {
  const T scale = reference::keep_scale<T>(key);
  for (std::int64_t r = 0; r < o.t; ++r) {
    const std::int64_t at = r * o.h;
    const RowDraws draws(key, elements.row(r));
    const DropRow<T, Mask> row{o.h, o.x + at, o.y + at, o.mask + at};
    if (o.bias) {
      drop_biased_and_add(draws, scale, row, o.residual + at, o.bias);
    } else {
      drop_and_add(draws, scale, row, o.residual + at);
    }
  }
}

template void dropout_fwd(const DropoutKey&, const HiddenElements&,
                          const DropoutForward<float, float>&);
template void dropout_fwd(const DropoutKey&, const HiddenElements&,
                          const DropoutForward<float, std::uint8_t>&);
template void dropout_fwd(const DropoutKey&, const HiddenElements&,
                          const DropoutForward<double, double>&);
template void dropout_fwd(const DropoutKey&, const HiddenElements&,
                          const DropoutForward<double, std::uint8_t>&);
template void dropout_fwd(const DropoutKey&, const AttentionElements&,
                          const DropoutForward<float, float>&);
template void dropout_fwd(const DropoutKey&, const AttentionElements&,
                          const DropoutForward<float, std::uint8_t>&);
template void dropout_fwd(const DropoutKey&, const AttentionElements&,
                          const DropoutForward<double, double>&);
template void dropout_fwd(const DropoutKey&, const AttentionElements&,
                          const DropoutForward<double, std::uint8_t>&);
template void dropout_add(const DropoutKey&, const HiddenElements&,
                          const DropoutAdd<float, float>&);
template void dropout_add(const DropoutKey&, const HiddenElements&,
                          const DropoutAdd<float, std::uint8_t>&);
template void dropout_add(const DropoutKey&, const HiddenElements&,
                          const DropoutAdd<double, double>&);
template void dropout_add(const DropoutKey&, const HiddenElements&,
                          const DropoutAdd<double, std::uint8_t>&);

}  // namespace windtunnel::cpu
