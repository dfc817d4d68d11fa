#pragma once
// Matrix products of row-major blocks with strides, in panels that bound what a product keeps
// beside its operands.
//
// One product of (m, k) and (k, n) takes 2 m n k FLOP and moves (m k + k n + m n) sizeof(T) bytes
// at least. It runs on the calling thread and takes no heap memory: Eigen copies the two factors
// into buffers on the stack, in panels of at most `kPanelBytes` each.

#include <cstdint>

#include "kernels/reference/gemm.h"

namespace windtunnel::cpu {

/// A copied panel of one factor: 1024 rows of 512 floats or 256 doubles. Each copied element then
/// serves 1024 multiply-adds, which hides the copy, and each panel of C is visited k / 512 times.
constexpr std::int64_t kPanelBytes = std::int64_t{1} << 21;

/// Stack that a thread needs to call any kernel of this folder: two panels, and as much again for
/// its other frames. It is also what Linux gives the main thread, and glibc every other one.
constexpr std::int64_t kWorkerStackBytes = 4 * kPanelBytes;

/// rows x columns elements, row i at data + i * stride.
template <class T>
struct Block {
  T* data;
  std::int64_t rows, columns, stride;

  Block part(std::int64_t row, std::int64_t column, std::int64_t part_rows,
             std::int64_t part_columns) const {
    return {data + row * stride + column, part_rows, part_columns, stride};
  }
  Block<const T> readable() const { return {data, rows, columns, stride}; }
};

/// c = or += alpha a b, a or b transposed as the function says.
template <class T>
struct Product {
  Block<const T> a, b;
  Block<T> c;
  T alpha = 1;
  reference::Update update = reference::Update::overwrite;
};

/// c (m, n) from a (m, k), b (n, k)^T
template <class T>
void product_nt(const Product<T>& p);

/// c (m, n) from a (m, k), b (k, n)
template <class T>
void product_nn(const Product<T>& p);

/// c (m, n) from a (k, m)^T, b (k, n)
template <class T>
void product_tn(const Product<T>& p);

}  // namespace windtunnel::cpu
