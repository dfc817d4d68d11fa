#pragma once
// Kernels of attention over several context-parallel ranks (`kernel_rows.h`): which positions a
// block holds follows from the rank's place in the ring.

#include "kernels/reference/flash_block.h"
#include "kernels/reference/regroup.h"
#include "runtime/attention_rows.h"
#include "runtime/execution.h"
#include "runtime/row_operands.h"

namespace windtunnel::kernel_rows {

template <class C>
ref::AttentionBlock attention_block(const C& c) {
  const int ring = c.program.mesh.cp / c.program.mesh.cp_heads;
  const int place = c.at.cp / c.program.mesh.cp_heads;
  ref::AttentionBlock block{.dims = attention_dims(c),
                            .keys = c.dim(1),
                            .query_at = c.zig_zag(ring, place),
                            .key_at = {}};
  block.dims.values = c.dim(6);
  if (c.has(kWholeKeys)) {
    block.keys = c.dim(5);
  } else {
    const int step = static_cast<int>(c.dim(5));
    block.key_at = c.zig_zag(ring, (place - step % ring + ring) % ring);
  }
  return block;
}

template <class C>
void flash_block(const C& c) {
  const ref::AttentionBlock block = attention_block(c);
  const AttentionSizes n = sizes_of(block.dims);
  const std::int64_t kv = block.keys * block.dims.micro * block.key_width();
  const std::int64_t queries = block.dims.micro * block.dims.s * block.dims.a * block.dims.d;
  ref::FlashOptions options{.mask = attention_mask(c), .dropout = {}};
  options.mask.causal = true;  // the attribute says whether some of the block is masked
  if (c.has(kAttentionDropout)) {
    options.dropout =
        ref::FlashDropout{.key = dropout_key(c, 0),
                          .elements = attention_elements(c, c.program.job.sequence, block.dims.a)};
  }
  if (c.shape.kernel == Kernel::flash_block_fwd) {
    SetOf<C>::flash_block_fwd(
        block, options,
        {.qkv = c.in(0, n.qkv), .kv = c.in(1, kv), .out = c.out(0, n.out), .lse = c.out(1, n.lse)});
    return;
  }
  SetOf<C>::flash_block_bwd(block, options,
                            {.dout = c.in(0, n.out),
                             .qkv = c.in(1, n.qkv),
                             .kv = c.in(2, kv),
                             .out = c.in(3, n.out),
                             .lse = c.in(4, n.lse),
                             .dq = gradient(c, 0, queries),
                             .dkv = c.out(1, kv)});
}

template <class C>
void merge_attention(const C& c) {
  const std::int64_t rows = c.dim(0) * c.dim(1), n = rows * c.dim(2);
  ref::merge_attention<typename C::Value>({.rows = rows,
                                           .d = c.dim(2),
                                           .part = c.in(0, n),
                                           .part_lse = c.in(1, rows),
                                           .out = c.add_to(0, n),
                                           .lse = c.add_to(1, rows)});
}

/// columns_to_blocks and sequence_to_rows: some columns of one tensor.
template <class C>
void regroup_columns(const C& c) {
  const ref::ColumnRange range{
      .width = c.dim(1), .offset = c.dim(3) + c.at.tp * c.dim(5), .columns = c.dim(2)};
  const std::int64_t rows = c.dim(0), n = c.dim(4);
  if (c.shape.kernel == Kernel::columns_to_blocks) {
    ref::columns_to_blocks(rows, n, range, c.in(0, rows * range.width),
                           c.out(0, rows * range.columns));
  } else {
    ref::sequence_to_rows(rows, n, range, c.in(0, n * rows * range.width),
                          c.out(0, n * rows * range.columns));
  }
}

/// blocks_to_columns and rows_to_sequence: tensors side by side.
template <class C>
void join_columns(const C& c) {
  const std::int64_t rows = c.dim(0), width = c.dim(1), n = c.dim(2);
  const bool sequence = c.shape.kernel == Kernel::rows_to_sequence;
  const std::int64_t all_rows = sequence ? n * rows : rows;
  auto* y = c.out(0, all_rows * width);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < c.op.inputs; ++i) {
    const std::int64_t columns = c.elements(i) / all_rows;
    const ref::ColumnRange range{.width = width, .offset = offset, .columns = columns};
    const auto* x = c.in(i, all_rows * columns);
    if (sequence) {
      ref::rows_to_sequence(rows, n, range, x, y);
    } else {
      ref::blocks_to_columns(rows, n, range, x, y);
    }
    offset += columns;
  }
  if (offset != width) throw ExecutionError("joins columns that are not all of its output's");
}

}  // namespace windtunnel::kernel_rows
