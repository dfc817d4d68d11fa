#include "plan/program_writer.h"

#include "core/check.h"
#include "core/counter_random.h"

namespace windtunnel {

OperandList::OperandList(std::initializer_list<SlotId> ids) {
  for (const SlotId id : ids) push_back(id);
}

void OperandList::push_back(SlotId id) {
  CHECK(size_ < ids_.size(), "an op has at most kMostOperands operands");
  ids_[size_++] = id;
}

void OperandList::replace(SlotId from, SlotId to) {
  for (std::uint8_t i = 0; i < size_; ++i) {
    if (ids_[i] == from) ids_[i] = to;
  }
}

std::size_t ProgramWriter::ShapeHash::operator()(const Shape& s) const {
  std::uint64_t h = counter_hash(
      static_cast<std::uint64_t>(s.kernel), static_cast<std::uint64_t>(s.in) << 32 | s.attr,
      static_cast<std::uint64_t>(s.out) << 16 | static_cast<std::uint64_t>(s.acc) << 8 | s.variant);
  for (const std::int64_t d : s.dims) h = mix64(h ^ static_cast<std::uint64_t>(d));
  h = mix64(h ^ static_cast<std::uint64_t>(s.bytes_read));
  return mix64(h ^ static_cast<std::uint64_t>(s.bytes_written));
}

std::uint32_t ProgramWriter::name(std::string_view text) {
  const auto [it, added] =
      names_.try_emplace(std::string(text), static_cast<std::uint32_t>(program.names.size()));
  if (added) program.names.emplace_back(text);
  return it->second;
}

std::uint32_t ProgramWriter::shape(const Shape& shape) {
  const auto [it, added] =
      shapes_.try_emplace(shape, static_cast<std::uint32_t>(program.shapes.size()));
  if (added) program.shapes.push_back(shape);
  return it->second;
}

std::uint32_t ProgramWriter::comm(std::string_view name) const {
  for (std::size_t i = 0; i < program.comms.size(); ++i) {
    if (program.comms[i].name == name) return static_cast<std::uint32_t>(i);
  }
  return kNone;
}

void ProgramWriter::add_comm(Comm comm) {
  program.comms.push_back(std::move(comm));
}

std::uint32_t ProgramWriter::store_segment(const SegmentDraft& draft) {
  Segment segment{.name = name(draft.name),
                  .op_begin = static_cast<std::uint32_t>(program.ops.size()),
                  .op_end = 0};
  for (const DraftOp& d : draft.ops) {
    Op op = d.op;
    op.ref_begin = static_cast<std::uint32_t>(program.refs.size());
    op.refs = d.operands.size();
    program.refs.insert(program.refs.end(), d.operands.begin(), d.operands.end());
    program.ops.push_back(op);
  }
  segment.op_end = static_cast<std::uint32_t>(program.ops.size());
  program.segments.push_back(segment);
  return static_cast<std::uint32_t>(program.segments.size() - 1);
}

}  // namespace windtunnel
