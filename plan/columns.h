#pragma once
// Some columns of every row as a tensor of their own, and tensors side by side as one.

#include <string_view>

#include "plan/role_draft.h"

namespace windtunnel {

/// What stacks do where a program has one tensor and they another.
enum class ColumnMove : std::uint8_t {
  copied,   // they copy too
  in_place  // the columns lie apart already, or need not: no launch, no traffic
};

/// Columns [offset, offset + columns) of a tensor (rows, width); the offset grows by `tp_stride`
/// times the rank's place in its tp group.
struct TakenColumns {
  std::int64_t rows = 0, width = 0, offset = 0, columns = 0, tp_stride = 0;
  std::string_view name;  // of the result
  Module module = Module::none;
  ColumnMove move = ColumnMove::copied;
};
/// -> (rows, columns), of the type products have.
SlotId take_columns(RoleDraft& d, SlotId x, const TakenColumns& taken);

struct JoinedColumns {
  std::int64_t rows = 0, width = 0;  // of the result
  std::string_view name;
  Module module = Module::none;
  ColumnMove move = ColumnMove::copied;
};
/// (rows, columns of each) -> (rows, width), of the type products have.
SlotId join_columns(RoleDraft& d, const OperandList& parts, const JoinedColumns& joined);

}  // namespace windtunnel
