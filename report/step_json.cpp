#include "report/step_json.h"

#include <nlohmann/json.hpp>

#include "report/memory_text.h"

namespace windtunnel {

namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

template <class T>
Json object_of(const std::vector<std::pair<std::string, T>>& entries) {
  Json json = Json::object();
  for (const auto& [name, value] : entries) json[name] = value;
  return json;
}

Json breakdown_json(const Breakdown& b) {
  const ExposedComm& comm = b.exposed_comm;
  return {{"compute", b.compute},
          {"exposed_comm",
           {{"tp", comm.tp}, {"pp", comm.pp}, {"dp", comm.dp}, {"cp", comm.cp}, {"ep", comm.ep}}},
          {"bubble", b.bubble},
          {"straggler", b.straggler},
          {"host", b.host},
          {"input", b.input},
          {"compute_by_kind",
           {{"gemm", b.gemm}, {"attention", b.attention}, {"memory_bound", b.memory_bound}}},
          {"recompute", b.recompute},
          {"compute_by_module", object_of(b.compute_by_module)}};
}

Json stage_memory_json(const StageMemory& stage) {
  Json largest = Json::array();  // several tensors may have one name
  for (const auto& [name, bytes] : stage.largest) {
    largest.push_back({{"name", name}, {"bytes", bytes}});
  }
  Json json{{"stage", stage.stage},
            {"peak_allocated_bytes", stage.peak_allocated_bytes},
            {"peak_reserved_bytes", stage.peak_reserved_bytes},
            {"peak_device_bytes", stage.peak_device_bytes},
            {"by_category", object_of(stage.by_category)},
            {"moment", stage.moment},
            {"largest", std::move(largest)},
            {"startup_peak_bytes", stage.startup_peak_bytes},
            {"first_step_peak_bytes", stage.first_step_peak_bytes}};
  if (stage.host_bytes > 0) json["host_bytes"] = stage.host_bytes;
  return json;
}

Json memory_json(const MemoryAnswer& memory) {
  Json stages = Json::array();
  for (const StageMemory& stage : memory.stages) stages.push_back(stage_memory_json(stage));
  Json json{{"verdict", name_of(memory.verdict)},
            {"oom_probability", memory.oom_probability},
            {"capacity_bytes", memory.capacity_bytes},
            {"fullest_stage", memory.fullest_stage},
            {"breaking", memory.breaking},
            {"stages", std::move(stages)}};
  if (memory.host_node_bytes > 0) {
    json["host_node_bytes"] = memory.host_node_bytes;
    if (memory.host_capacity_bytes > 0) json["host_capacity_bytes"] = memory.host_capacity_bytes;
  }
  return json;
}

Json traffic_json(const std::vector<TrafficRow>& rows) {
  Json list = Json::array();
  for (const TrafficRow& row : rows) {
    list.push_back({{"stage", row.stage},
                    {"kind", row.kind},
                    {"communicator", row.communicator},
                    {"count", row.count},
                    {"elements", row.elements},
                    {"bytes", row.bytes}});
  }
  return list;
}

}  // namespace

const char* name_of(StepKind kind) {
  return kind == StepKind::run ? "run" : "simulation";
}

std::string step_json(const StepReport& r) {
  Json stages = Json::array();
  for (const Breakdown& stage : r.stages) stages.push_back(breakdown_json(stage));
  Json spread = nullptr;
  if (r.step_time_spread_s) spread = *r.step_time_spread_s;
  Json percentiles = nullptr;
  if (const auto& p = r.step_time_percentiles_s) {
    percentiles = {{"p50", p->p50}, {"p90", p->p90}, {"p99", p->p99}};
  }
  Json sound = nullptr;
  if (r.step_time_sound_s) sound = *r.step_time_sound_s;
  Json json = {{"id", r.id},
               {"name", r.name},
               {"kind", name_of(r.kind)},
               {"model", r.model_line},
               {"parameters", r.parameters},
               {"cluster", r.cluster_line},
               {"plan", r.plan_line},
               {"stack", r.stack_line},
               {"step_time_s", r.step_time_s},
               {"step_time_interval_s", r.step_time_interval_s},
               {"step_time_percentiles_s", std::move(percentiles)},
               {"step_time_spread_s", std::move(spread)},
               {"step_times_s", r.step_times_s},
               {"losses", r.losses},
               {"tokens_per_s", r.tokens_per_s},
               {"tokens_per_s_per_device", r.tokens_per_s_per_device},
               {"mfu", r.mfu},
               {"hfu", r.hfu},
               {"flop_convention", r.flop_convention},
               {"bottleneck", r.bottleneck},
               {"runner_up", r.runner_up},
               {"lever", r.lever},
               {"breakdown_s", breakdown_json(r.breakdown)},
               {"breakdown_by_stage_s", std::move(stages)},
               {"memory", memory_json(r.memory)},
               {"traffic", traffic_json(r.traffic)},
               {"origins", r.origins},
               {"assumptions", r.assumptions},
               {"degraded", r.degraded},
               {"step_time_sound_s", std::move(sound)},
               {"calibrate_next", r.calibrate_next}};
  if (r.trained_parameters) json["trained_parameters"] = *r.trained_parameters;
  return dump(json);
}

std::string check_json(const CheckAnswer& answer) {
  Json errors = Json::array();
  for (const Diagnostic& d : answer.errors) {
    errors.push_back({{"file", d.position.file},
                      {"line", d.position.line},
                      {"column", d.position.column},
                      {"message", d.message},
                      {"hint", d.hint}});
  }
  const Json memory = answer.errors.empty() ? memory_json(answer.report.memory) : Json(nullptr);
  return dump({{"id", answer.report.id}, {"memory", memory}, {"errors", std::move(errors)}});
}

}  // namespace windtunnel
