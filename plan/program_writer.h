#pragma once
// Writes a Program: interns names and shapes, stores segments and calls.
//
// The lowering drafts ops with their operands (`DraftOp`) into `SegmentDraft`s; `store_segment`
// appends them to the program's arenas. Equal shapes and equal names are stored once.

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "program/program.h"

namespace windtunnel {

/// Up to sixteen operands without a heap allocation.
class OperandList {
 public:
  OperandList() = default;
  OperandList(std::initializer_list<SlotId> ids);
  void push_back(SlotId id);
  void replace(SlotId from, SlotId to);
  const SlotId* begin() const { return ids_.data(); }
  const SlotId* end() const { return ids_.data() + size_; }
  std::uint8_t size() const { return size_; }

 private:
  std::array<SlotId, kMostOperands> ids_{};
  std::uint8_t size_ = 0;
};

struct DraftOp {
  Op op;
  OperandList operands;  // inputs first
  OperandList holds;  // slots that must stay allocated until this op is issued (awaited transfers)
};

struct SegmentDraft {
  std::string name;
  std::vector<DraftOp> ops;
};

class ProgramWriter {
 public:
  std::uint32_t name(std::string_view text);
  std::uint32_t shape(const Shape& shape);
  /// Index of the communicator called `name`; kNone when no group of it has two members.
  std::uint32_t comm(std::string_view name) const;
  void add_comm(Comm comm);
  std::uint32_t store_segment(const SegmentDraft& draft);

  Program program;

 private:
  struct ShapeHash {
    std::size_t operator()(const Shape& s) const;
  };
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<Shape, std::uint32_t, ShapeHash> shapes_;
};

}  // namespace windtunnel
