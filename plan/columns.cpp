#include "plan/columns.h"

namespace windtunnel {

namespace {

/// `operands`: all that the kernel reads and writes; `untouched`: of it, what a copy leaves alone.
struct Traffic {
  std::int64_t operands = 0, untouched = 0;
};

void draft_move(RoleDraft& d, KernelSpec spec, const OperandList& in, SlotId out,
                const Traffic& traffic, ColumnMove move) {
  const bool copied = move == ColumnMove::copied;
  spec.launches = copied ? 1 : 0;
  spec.continues = !copied;
  spec.extra_bytes = copied ? -traffic.untouched : -traffic.operands;
  d.kernel(spec, in, {out});
}

}  // namespace

SlotId take_columns(RoleDraft& d, SlotId x, const ColumnPart& part, std::string_view name,
                    Module module, ColumnMove move) {
  const SlotId y = d.tensor(name, part.rows * part.columns, d.plan().multiplied());
  const std::int64_t whole = d.slot(x).bytes(), taken = d.slot(y).bytes();
  draft_move(d,
             {.kernel = Kernel::columns_to_blocks,
              .dims = {part.rows, part.width, part.columns, part.offset, 1},
              .module = module},
             {x}, y, {.operands = whole + taken, .untouched = whole - taken}, move);
  return y;
}

SlotId join_columns(RoleDraft& d, const OperandList& parts, const JoinedColumns& joined,
                    ColumnMove move) {
  const SlotId y = d.tensor(joined.name, joined.rows * joined.width, d.plan().multiplied());
  std::int64_t operands = d.slot(y).bytes();
  for (const SlotId part : parts) operands += d.slot(part).bytes();
  draft_move(d,
             {.kernel = Kernel::blocks_to_columns,
              .dims = {joined.rows, joined.width, 1},
              .module = joined.module},
             parts, y, {.operands = operands}, move);
  return y;
}

}  // namespace windtunnel
