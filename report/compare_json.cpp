#include "report/compare_json.h"

#include <nlohmann/json.hpp>

#include "report/compare_words.h"
#include "report/memory_text.h"
#include "report/step_json.h"

namespace windtunnel {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json both_json(const Both<T>& both) {
  const std::optional<double> relative = both.relative();
  return {{"a", both.a},
          {"b", both.b},
          {"difference", both.difference()},
          {"relative", relative ? Json(*relative) : Json(nullptr)}};
}

Json side_json(const ComparedStep& step) {
  Json json = {{"id", step.id},
               {"name", step.name},
               {"kind", name_of(step.kind)},
               {"model", step.model},
               {"cluster", step.cluster},
               {"plan", step.plan},
               {"stack", step.stack},
               {"stages", step.stages},
               {"step_time_interval_s", step.interval_s},
               {"step_time_spread_s", step.spread_s ? Json(*step.spread_s) : Json(nullptr)}};
  json["memory_verdict"] = step.memory_stages > 0 ? Json(name_of(step.verdict)) : Json(nullptr);
  return json;
}

/// With the keys of a step's own breakdown.
Json breakdown_json(const BreakdownDifference& difference) {
  Json json = Json::object();
  for (const TermDifference& row : difference.terms) {
    Json& object = *row.term->group != '\0' ? json[row.term->group] : json;
    object[row.term->key] = both_json(row.seconds);
  }
  Json modules = Json::object();
  for (const ModuleDifference& row : difference.modules) {
    modules[row.module] = both_json(row.seconds);
  }
  json["compute_by_module"] = std::move(modules);
  return json;
}

Json memory_json(const MemoryDifference& memory) {
  Json categories = Json::object();
  for (const auto& [name, bytes] : memory.by_category) categories[name] = both_json(bytes);
  return {{"stage_a", memory.stage.a},
          {"stage_b", memory.stage.b},
          {"peak_allocated_bytes", both_json(memory.allocated_bytes)},
          {"peak_reserved_bytes", both_json(memory.reserved_bytes)},
          {"peak_device_bytes", both_json(memory.device_bytes)},
          {"by_category", std::move(categories)}};
}

Json traffic_json(const std::vector<TrafficDifference>& rows) {
  Json list = Json::array();
  for (const TrafficDifference& row : rows) {
    Json json = Json::object();
    if (row.stage >= 0) json["stage"] = row.stage;
    json["kind"] = row.kind;
    json["communicator"] = row.communicator;
    json["count"] = both_json(row.count);
    json["elements"] = both_json(row.elements);
    json["bytes"] = both_json(row.bytes);
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

std::string comparison_json(const Comparison& c, const std::vector<Violation>& violations) {
  Json stages = Json::array(), memory = Json::array(), over = Json::array();
  for (const BreakdownDifference& stage : c.stages) stages.push_back(breakdown_json(stage));
  for (const MemoryDifference& stage : c.memory) memory.push_back(memory_json(stage));
  for (const Violation& violation : violations) {
    over.push_back({{"limit", violation.limit}, {"detail", violation.detail}});
  }
  const Json json = {
      {"a", side_json(c.a)},
      {"b", side_json(c.b)},
      {"cause", cause_sentence(c)},
      {"step_time_s", both_json(c.step_time_s)},
      {"tokens_per_s", both_json(c.tokens_per_s)},
      {"tokens_per_s_per_device", both_json(c.tokens_per_s_per_device)},
      {"mfu", both_json(c.mfu)},
      {"hfu", both_json(c.hfu)},
      {"breakdown_s", breakdown_json(c.breakdown)},
      {"breakdown_by_stage_s", std::move(stages)},
      {"memory_of_fullest_stage", c.fullest ? memory_json(*c.fullest) : Json(nullptr)},
      {"memory_by_stage", std::move(memory)},
      {"traffic", traffic_json(c.traffic)},
      {"traffic_over_stages", traffic_json(c.traffic_sums)},
      {"over_limits", std::move(over)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace windtunnel
