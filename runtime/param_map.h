#pragma once
// How the elements a rank holds of a parameter map to the global tensor.

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"

namespace windtunnel {

/// Name of the parameter's tensor, the same in every layout. Tied copies share the name of their
/// original.
std::string tensor_name(const Program& program, const Param& param);

/// The part of a parameter that one tensor-parallel rank holds, row-major.
class ParamMap {
 public:
  ParamMap(const Param& param, int tp, int tp_rank);

  std::int64_t elements() const { return rows_ * cols_; }
  /// row * cols + column in the global tensor of a local element; rows * cols or more: padding.
  std::int64_t global_index(std::int64_t local) const;

 private:
  std::int64_t rows_ = 0, cols_ = 0, global_cols_ = 0;
  int dim_ = -1;
  std::vector<std::int64_t> along_;  // global place of each local place on the sharded dimension
};

/// Whether this rank's gradient of the parameter counts in the global norm: the first of the tensor
/// parallel ranks that hold the same values does, and of tied copies the original.
bool counts_in_norm(const Param& param, int tp_rank);

/// A stretch of a slot's memory that belongs to one parameter.
struct ParamRange {
  std::int64_t begin = 0, end = 0;  // elements of the root slot
  std::uint32_t param = kNone;
  std::int64_t first = 0;  // of the rank's part of the parameter: the element at `begin`
};

}  // namespace windtunnel
