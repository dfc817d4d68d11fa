#pragma once
// Copies that put rows and columns in the order an exchange over ranks needs.
//
// An all-to-all sends block m of its input to member m: a block is either a group of columns
// (heads) of all local rows, or member m's rows of some columns. Members hold two mirrored chunks
// of the sequence (placement.h), so their blocks are put into the sequence's order and back in
// halves.

#include <algorithm>
#include <cstdint>

namespace windtunnel::reference {

/// Columns [offset, offset + columns) of a tensor of `width` columns.
struct ColumnRange {
  std::int64_t width = 0, offset = 0, columns = 0;
};

/// x (rows, width) -> y (blocks, rows, columns / blocks): block b has the b-th part of the columns.
template <class T>
void columns_to_blocks(std::int64_t rows, std::int64_t blocks, const ColumnRange& range, const T* x,
                       T* y) {
  const std::int64_t part = range.columns / blocks;
  for (std::int64_t b = 0; b < blocks; ++b) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* from = x + r * range.width + range.offset + b * part;
      std::copy(from, from + part, y + (b * rows + r) * part);
    }
  }
}

/// x (blocks, rows, columns / blocks) -> y (rows, width), the range's columns of it
template <class T>
void blocks_to_columns(std::int64_t rows, std::int64_t blocks, const ColumnRange& range, const T* x,
                       T* y) {
  const std::int64_t part = range.columns / blocks;
  for (std::int64_t b = 0; b < blocks; ++b) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* from = x + (b * rows + r) * part;
      std::copy(from, from + part, y + r * range.width + range.offset + b * part);
    }
  }
}

/// Row of the members' whole sequence that holds row r of member m, who has `rows`: first the first
/// halves of all, then the second halves, the last member's first.
inline std::int64_t sequence_row(std::int64_t members, std::int64_t rows, std::int64_t m,
                                 std::int64_t r) {
  const std::int64_t half = rows / 2;
  return r < half ? m * half + r : (2 * members - 1 - m) * half + r - half;
}

/// x (members, rows, columns) -> y (members rows, width), the range's columns of it
template <class T>
void rows_to_sequence(std::int64_t rows, std::int64_t members, const ColumnRange& range, const T* x,
                      T* y) {
  for (std::int64_t m = 0; m < members; ++m) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* from = x + (m * rows + r) * range.columns;
      std::copy(from, from + range.columns,
                y + sequence_row(members, rows, m, r) * range.width + range.offset);
    }
  }
}

/// x (members rows, width) -> y (members, rows, columns)
template <class T>
void sequence_to_rows(std::int64_t rows, std::int64_t members, const ColumnRange& range, const T* x,
                      T* y) {
  for (std::int64_t m = 0; m < members; ++m) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* from = x + sequence_row(members, rows, m, r) * range.width + range.offset;
      std::copy(from, from + range.columns, y + (m * rows + r) * range.columns);
    }
  }
}

}  // namespace windtunnel::reference
