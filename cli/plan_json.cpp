#include "cli/plan_json.h"

#include <nlohmann/json.hpp>

#include "program/collective_counts.h"
#include "program/mesh.h"
#include "program/op_names.h"

namespace windtunnel {

namespace {

using Json = nlohmann::ordered_json;

/// Bytes of a collective are those of the full tensor, summed over its executions.
Json communication_json(const Program& program, std::size_t role) {
  const CollectiveCounts counts = count_collectives(program, role);
  Json list = Json::array();
  for (const CollectiveCount& c : counts.collectives) {
    list.push_back({{"kind", name_of(c.collective)},
                    {"communicator", program.comms[c.comm].name},
                    {"phase", name_of(c.phase)},
                    {"count", c.count},
                    {"bytes", c.bytes}});
  }
  for (const TransferCount& t : counts.transfers) {
    list.push_back({{"kind", name_of(t.kind)},
                    {"communicator", program.comms[t.comm].name},
                    {"phase", name_of(t.phase)},
                    {"peer_stage", program.roles[static_cast<std::size_t>(t.peer)].pipeline_rank},
                    {"count", t.count},
                    {"bytes", t.bytes}});
  }
  return list;
}

Json stage_json(const Program& program, std::size_t index) {
  const Role& role = program.roles[index];
  Json chunks = Json::array();
  for (const Chunk& chunk : role.chunks) {
    chunks.push_back({{"chunk", chunk.global_chunk},
                      {"layer_begin", chunk.layer_begin},
                      {"layer_end", chunk.layer_end},
                      {"embedding", chunk.has_embedding},
                      {"head", chunk.has_head}});
  }
  return {{"stage", role.pipeline_rank},
          {"chunks", std::move(chunks)},
          {"calls", role.calls.size()},
          {"communication_per_step", communication_json(program, index)}};
}

Json mesh_json(const Mesh& mesh) {
  Json order = Json::array();
  for (const Axis axis : mesh.order) order.push_back(axes_text(axis));
  return {{"tp", mesh.tp},
          {"cp", mesh.cp},
          {"ep", mesh.ep},
          {"dp", mesh.dp},
          {"pp", mesh.pp},
          {"ranks", mesh.ranks()},
          {"order", std::move(order)}};
}

Json communicator_json(const Mesh& mesh, const Comm& comm) {
  return {{"name", comm.name},
          {"axes", axes_text(comm.axes)},
          {"ranks", group_size(mesh, comm)},
          {"group_of_rank_0", members(mesh, comm, 0)}};
}

}  // namespace

std::string plan_json(const Lowered& lowered) {
  const Program& program = lowered.program;
  const ResolvedScenario& resolved = lowered.resolved;
  Json values = Json::array(), stages = Json::array(), communicators = Json::array();
  for (const ResolvedKey& key : resolved.keys) {
    values.push_back({{"key", key.key}, {"value", key.value}, {"origin", key.origin}});
  }
  for (std::size_t i = 0; i < program.roles.size(); ++i) stages.push_back(stage_json(program, i));
  for (const Comm& comm : program.comms) {
    communicators.push_back(communicator_json(program.mesh, comm));
  }
  const Json json = {{"id", resolved.scenario.id},
                     {"resolved", std::move(values)},
                     {"assumptions", resolved.assumptions},
                     {"mesh", mesh_json(program.mesh)},
                     {"micro_batches", program.job.micro_batches},
                     {"communicators", std::move(communicators)},
                     {"stages", std::move(stages)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace windtunnel
