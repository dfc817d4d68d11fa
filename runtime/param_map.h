#pragma once
// How the elements a rank holds of a parameter map to the global tensor.

#include <cstdint>
#include <string>
#include <vector>

#include "program/mesh.h"
#include "program/program.h"

namespace windtunnel {

/// Name of the parameter's tensor, the same in every layout. Tied copies share the name of their
/// original.
std::string tensor_name(const Program& program, const Param& param);

/// The part of a parameter that one rank holds, row-major: its part of the tensor among the tensor
/// parallel ranks, of the experts of its place in the expert group.
class ParamMap {
 public:
  ParamMap(const Param& param, const Mesh& mesh, const Coordinates& at);

  std::int64_t elements() const { return held_ * rows_ * cols_; }
  /// (expert * rows + row) * cols + column in the global tensor of a local element; Param::size()
  /// or more: padding.
  std::int64_t global_index(std::int64_t local) const;

 private:
  std::int64_t rows_ = 0, cols_ = 0, global_cols_ = 0;
  std::int64_t held_ = 1, first_expert_ = 0, expert_elements_ = 0;
  int dim_ = -1;
  std::vector<std::int64_t> along_;  // global place of each local place on the sharded dimension
};

/// Whether this rank's gradient of the parameter counts in the global norm: the first of the tensor
/// parallel ranks that hold the same values does, and of tied copies the original. Experts are
/// never held twice within the norm's group.
bool counts_in_norm(const Param& param, int tp_rank);

/// A stretch of a slot's memory that belongs to one parameter.
struct ParamRange {
  std::int64_t begin = 0, end = 0;  // elements of the root slot
  std::uint32_t param = kNone;
  std::int64_t first = 0;  // of the rank's part of the parameter: the element at `begin`
};

}  // namespace windtunnel
