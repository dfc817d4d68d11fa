#include "plan/columns.h"

namespace windtunnel {

namespace {

/// `operands`: all that the kernel reads and writes; `untouched`: of it, what a copy leaves alone.
struct Traffic {
  std::int64_t operands = 0, untouched = 0;
};

KernelSpec with_traffic(KernelSpec spec, ColumnMove move, const Traffic& traffic) {
  const bool copied = move == ColumnMove::copied;
  spec.launches = copied ? 1 : 0;
  spec.continues = !copied;
  spec.extra_bytes = copied ? -traffic.untouched : -traffic.operands;
  return spec;
}

}  // namespace

SlotId take_columns(RoleDraft& d, SlotId x, const TakenColumns& taken) {
  const SlotId y = d.tensor(taken.name, taken.rows * taken.columns, d.plan().multiplied());
  const std::int64_t whole = d.slot(x).bytes(), part = d.slot(y).bytes();
  d.kernel(with_traffic(
               {.kernel = Kernel::columns_to_blocks,
                .dims = {taken.rows, taken.width, taken.columns, taken.offset, 1, taken.tp_stride},
                .module = taken.module},
               taken.move, {.operands = whole + part, .untouched = whole - part}),
           {x}, {y});
  return y;
}

SlotId join_columns(RoleDraft& d, const OperandList& parts, const JoinedColumns& joined) {
  const SlotId y = d.tensor(joined.name, joined.rows * joined.width, d.plan().multiplied());
  std::int64_t operands = d.slot(y).bytes();
  for (const SlotId part : parts) operands += d.slot(part).bytes();
  d.kernel(with_traffic({.kernel = Kernel::blocks_to_columns,
                         .dims = {joined.rows, joined.width, 1},
                         .module = joined.module},
                        joined.move, {.operands = operands}),
           parts, {y});
  return y;
}

}  // namespace windtunnel
