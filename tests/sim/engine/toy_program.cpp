#include "tests/sim/engine/toy_program.h"

namespace windtunnel::toy {

Toy::Toy(const Mesh& mesh, int chunks) {
  program.mesh = mesh;
  for (int pp = 0; pp < mesh.pp; ++pp) {
    Role role{.pipeline_rank = pp};
    for (int c = 0; c < chunks; ++c) role.chunks.push_back({.global_chunk = c * mesh.pp + pp});
    program.roles.push_back(role);
  }
  costs.launch = {0};
}

std::uint32_t Toy::comm(const std::string& name, std::uint8_t axes) {
  program.comms.push_back({.name = name, .axes = axes});
  return static_cast<std::uint32_t>(program.comms.size() - 1);
}

std::uint32_t Toy::event(int role, bool per_frame) {
  auto& events = program.roles[static_cast<std::size_t>(role)].events;
  events.push_back({.per_frame = per_frame});
  return static_cast<std::uint32_t>(events.size() - 1);
}

std::uint32_t Toy::segment(const std::string& name) {
  program.names.push_back(name);
  const auto at = static_cast<std::uint32_t>(program.ops.size());
  program.segments.push_back(
      {.name = static_cast<std::uint32_t>(program.names.size() - 1), .op_begin = at, .op_end = at});
  return static_cast<std::uint32_t>(program.segments.size() - 1);
}

void Toy::call(int role, std::uint32_t segment_index, int chunk, int micro_batch) {
  program.roles[static_cast<std::size_t>(role)].calls.push_back(
      {.segment = segment_index,
       .chunk = static_cast<std::int16_t>(chunk),
       .micro_batch = micro_batch,
       .first_micro_batch = micro_batch == 0,
       .last_micro_batch = false});
}

Op& Toy::add(const Op& op, Picoseconds cost) {
  program.ops.push_back(op);
  for (int draw = 0; draw < costs.draws; ++draw) costs.duration.push_back(cost);
  program.segments.back().op_end = static_cast<std::uint32_t>(program.ops.size());
  return program.ops.back();
}

Op& Toy::compute(Picoseconds cost, Kernel kernel) {
  return add(
      {.kind = OpKind::compute, .module = Module::mlp, .launches = 1, .shape = shape(kernel)},
      cost);
}

Op& Toy::collective(std::uint32_t comm_index, Picoseconds cost, Stream stream) {
  return add({.kind = OpKind::collective, .stream = stream, .launches = 1, .comm = comm_index},
             cost);
}

Op& Toy::send(int peer, std::uint32_t comm_index, Picoseconds cost, Stream stream) {
  return add({.kind = OpKind::send,
              .stream = stream,
              .launches = 1,
              .peer = static_cast<std::int16_t>(peer),
              .comm = comm_index},
             cost);
}

Op& Toy::recv(int peer, std::uint32_t comm_index, Stream stream) {
  return add({.kind = OpKind::recv,
              .stream = stream,
              .launches = 1,
              .peer = static_cast<std::int16_t>(peer),
              .comm = comm_index});
}

void Toy::record(std::uint32_t event_index, Stream stream) {
  add({.kind = OpKind::record, .stream = stream, .event = event_index});
}

void Toy::wait(std::uint32_t event_index, Stream stream) {
  add({.kind = OpKind::wait, .stream = stream, .event = event_index});
}

void Toy::host_work(Picoseconds cost, Module module) {
  add({.kind = OpKind::host_work, .module = module, .shape = shape(Kernel::host_work)}, cost);
}

std::uint32_t Toy::shape(Kernel kernel) {
  for (std::uint32_t i = 0; i < program.shapes.size(); ++i) {
    if (program.shapes[i].kernel == kernel) return i;
  }
  program.shapes.push_back({.kernel = kernel});
  return static_cast<std::uint32_t>(program.shapes.size() - 1);
}

}  // namespace windtunnel::toy
