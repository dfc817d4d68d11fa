#pragma once
// Writes small programs by hand: slots, ops and calls of one or two pipeline roles.
//
// `Toy` holds a program whose roles each have one prologue call (statics are taken there) and any
// number of step calls; an op is added to the call opened last.

#include <initializer_list>
#include <string>
#include <vector>

#include "program/program.h"

namespace windtunnel::toy {

struct Place {
  std::int16_t chunk = 0;
  std::int32_t micro_batch = 0;
};

class Toy {
 public:
  explicit Toy(const Mesh& mesh) {
    program.mesh = mesh;
    program.job = {
        .micro = 1, .sequence = 4, .micro_batches = 1, .global_batch = mesh.dp, .vocab = 97};
    for (int pp = 0; pp < mesh.pp; ++pp) {
      Role role;
      role.pipeline_rank = pp;
      role.chunks.push_back({.global_chunk = pp});
      program.roles.push_back(role);
    }
  }

  Role& role() { return program.roles[role_]; }
  void use_role(std::size_t index) { role_ = index; }

  std::uint32_t name(const std::string& text) {
    program.names.push_back(text);
    return static_cast<std::uint32_t>(program.names.size() - 1);
  }
  std::uint32_t comm(const std::string& text, std::uint8_t axes) {
    program.comms.push_back({.name = text, .axes = axes});
    return static_cast<std::uint32_t>(program.comms.size() - 1);
  }
  SlotId slot(const std::string& text, std::int64_t elements, Space space) {
    role().slots.push_back({.elements = elements,
                            .dtype = Dtype::fp32,
                            .space = space,
                            .chunk = static_cast<std::int16_t>(space == Space::frame ? 0 : -1),
                            .name = name(text)});
    return static_cast<SlotId>(role().slots.size() - 1);
  }
  /// A static slot of the parameter `param`.
  SlotId weight(const std::string& text, const Param& param, std::int64_t elements) {
    Param named = param;
    named.name = name(text);
    program.params.push_back(named);
    const SlotId id = slot(text, elements, Space::statics);
    role().slots[id].category = Category::weights;
    role().slots[id].param = static_cast<std::uint32_t>(program.params.size() - 1);
    return id;
  }

  void open_prologue() { open(role().prologue, {.chunk = -1, .micro_batch = -1}); }
  void open_call(const Place& place) { open(role().calls, place); }

  void add(Op op, std::initializer_list<SlotId> refs) {
    op.ref_begin = static_cast<std::uint32_t>(program.refs.size());
    op.refs = static_cast<std::uint8_t>(refs.size());
    program.refs.insert(program.refs.end(), refs);
    program.ops.push_back(op);
    program.segments.back().op_end = static_cast<std::uint32_t>(program.ops.size());
  }
  std::uint32_t event(const std::string& text) {
    role().events.push_back({.name = name(text), .per_frame = true});
    return static_cast<std::uint32_t>(role().events.size() - 1);
  }
  void record(std::uint32_t event, Stream stream) {
    add({.kind = OpKind::record, .stream = stream, .event = event}, {});
  }
  void wait(std::uint32_t event, Stream stream) {
    add({.kind = OpKind::wait, .stream = stream, .event = event}, {});
  }
  void alloc(SlotId id) { add({.kind = OpKind::alloc}, {id}); }
  void free(SlotId id) { add({.kind = OpKind::free}, {id}); }
  /// `inputs` of `refs` are inputs.
  void kernel(Kernel kernel, const ShapeDims& dims, std::uint8_t inputs,
              std::initializer_list<SlotId> refs) {
    program.shapes.push_back({.kernel = kernel, .dims = dims});
    add({.kind = OpKind::compute,
         .inputs = inputs,
         .shape = static_cast<std::uint32_t>(program.shapes.size() - 1)},
        refs);
  }

  Program program;

 private:
  void open(std::vector<Call>& calls, const Place& place) {
    const auto at = static_cast<std::uint32_t>(program.ops.size());
    program.segments.push_back({.name = name("segment"), .op_begin = at, .op_end = at});
    calls.push_back({.segment = static_cast<std::uint32_t>(program.segments.size() - 1),
                     .chunk = place.chunk,
                     .micro_batch = place.micro_batch});
  }

  std::size_t role_ = 0;
};

}  // namespace windtunnel::toy
