#include "kernels/cpu/product.h"

#include <Eigen/Core>
#include <algorithm>

namespace windtunnel::cpu {

namespace {

using reference::Update;

static_assert(EIGEN_STACK_ALLOCATION_LIMIT >= 2 * kPanelBytes,
              "CMakeLists.txt: panels on the stack");

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
Eigen::Map<const Matrix<T>, Eigen::Unaligned, Eigen::OuterStride<>> map(const Block<const T>& b) {
  return {b.data, b.rows, b.columns, Eigen::OuterStride<>(b.stride)};
}

template <class T>
Eigen::Map<Matrix<T>, Eigen::Unaligned, Eigen::OuterStride<>> map(const Block<T>& b) {
  return {b.data, b.rows, b.columns, Eigen::OuterStride<>(b.stride)};
}

/// A panel of c is kSide wide and high; of the sum as many terms as fit into kPanelBytes are taken
/// at once.
constexpr std::int64_t kSide = 1024;
template <class T>
constexpr std::int64_t kDepth = kPanelBytes / (kSide * static_cast<std::int64_t>(sizeof(T)));

/// Rows i.., columns j.. of c, and the terms from l on of their sums.
struct Panel {
  std::int64_t i, j, l, rows, columns, depth;
};

/// In an order that ends one panel's sums before the next.
template <class T, class F>
void for_each_panel(const Block<T>& c, std::int64_t terms, F visit) {
  for (std::int64_t j = 0; j < c.columns; j += kSide) {
    for (std::int64_t i = 0; i < c.rows; i += kSide) {
      std::int64_t l = 0;
      do {  // a sum of no terms is a sum too
        visit(Panel{.i = i,
                    .j = j,
                    .l = l,
                    .rows = std::min(kSide, c.rows - i),
                    .columns = std::min(kSide, c.columns - j),
                    .depth = std::min(kDepth<T>, terms - l)});
        l += kDepth<T>;
      } while (l < terms);
    }
  }
}

/// One panel: a and b are Eigen expressions of its shape.
template <class T, class A, class B>
void add_panel(const Product<T>& p, const Panel& at, const A& a, const B& b) {
  auto c = map(p.c.part(at.i, at.j, at.rows, at.columns));
  if (at.l == 0 && p.update == Update::overwrite) {
    c.noalias() = (p.alpha * a) * b;
  } else {
    c.noalias() += (p.alpha * a) * b;
  }
}

}  // namespace

template <class T>
void product_nt(const Product<T>& p) {
  for_each_panel(p.c, p.a.columns, [&](const Panel& at) {
    add_panel(p, at, map(p.a.part(at.i, at.l, at.rows, at.depth)),
              map(p.b.part(at.j, at.l, at.columns, at.depth)).transpose());
  });
}

template <class T>
void product_nn(const Product<T>& p) {
  for_each_panel(p.c, p.a.columns, [&](const Panel& at) {
    add_panel(p, at, map(p.a.part(at.i, at.l, at.rows, at.depth)),
              map(p.b.part(at.l, at.j, at.depth, at.columns)));
  });
}

template <class T>
void product_tn(const Product<T>& p) {
  for_each_panel(p.c, p.a.rows, [&](const Panel& at) {
    add_panel(p, at, map(p.a.part(at.l, at.i, at.depth, at.rows)).transpose(),
              map(p.b.part(at.l, at.j, at.depth, at.columns)));
  });
}

template void product_nt(const Product<float>&);
template void product_nt(const Product<double>&);
template void product_nn(const Product<float>&);
template void product_nn(const Product<double>&);
template void product_tn(const Product<float>&);
template void product_tn(const Product<double>&);

}  // namespace windtunnel::cpu
