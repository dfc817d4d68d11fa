#include "planning/validate_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace windtunnel {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json prediction_json(const Prediction& p) {
  return {{"step_time_s", p.step_time_s},
          {"step_time_interval_s", p.step_time_interval_s},
          {"peak_allocated_bytes", p.peak_allocated_bytes},
          {"peak_reserved_bytes", p.peak_reserved_bytes},
          {"peak_device_bytes", p.peak_device_bytes},
          {"oom", p.oom}};
}

/// Only what the row states.
Json measured_json(const Measured& m) {
  Json json = Json::object();
  if (const auto step = measured_step_time(m)) json["step_time_s"] = *step;
  if (m.step_time_range) {
    json["step_time_range_s"] = {m.step_time_range->first.value, m.step_time_range->second.value};
  }
  if (m.peak_allocated) json["peak_allocated_bytes"] = m.peak_allocated->value;
  if (m.peak_reserved) json["peak_reserved_bytes"] = m.peak_reserved->value;
  if (m.peak_device) json["peak_device_bytes"] = m.peak_device->value;
  if (m.peak_rank) json["peak_rank"] = *m.peak_rank;
  if (const auto oom = measured_oom(m)) json["oom"] = *oom;
  if (!m.source.empty()) json["source"] = m.source;
  return json;
}

Json row_json(const ValidationRow& row) {
  return {{"id", row.id},
          {"source", row.source},
          {"group", row.group.empty() ? Json(nullptr) : Json(row.group)},
          {"predicted", row.predicted ? prediction_json(*row.predicted) : Json(nullptr)},
          {"measured", row.measured ? measured_json(*row.measured) : Json(nullptr)},
          {"step_time_error", or_null(row.step_time_error)},
          {"memory_error", or_null(row.memory_error)},
          {"interval_holds", or_null(row.interval_holds)},
          {"refused", row.refused.empty() ? Json(nullptr) : Json(row.refused)}};
}

Json summary_json(const ValidationSummary& s) {
  return {{"rows", s.rows},
          {"refused", s.refused},
          {"step_time",
           {{"n", s.step_time.n},
            {"mape", or_null(s.step_time.mape)},
            {"median_ape", or_null(s.step_time.median_ape)},
            {"bias", or_null(s.step_time.bias)},
            {"p90_ape", or_null(s.step_time.p90_ape)},
            {"max_ape", or_null(s.step_time.max_ape)}}},
          {"memory",
           {{"n", s.memory.n},
            {"mape", or_null(s.memory.mape)},
            {"median_ape", or_null(s.memory.median_ape)},
            {"bias", or_null(s.memory.bias)},
            {"p90_ape", or_null(s.memory.p90_ape)},
            {"max_ape", or_null(s.memory.max_ape)}}},
          {"oom",
           {{"true_positive", s.oom.true_positive},
            {"false_positive", s.oom.false_positive},
            {"true_negative", s.oom.true_negative},
            {"false_negative", s.oom.false_negative},
            {"recall", or_null(s.oom.recall())},
            {"specificity", or_null(s.oom.specificity())}}},
          {"ranking",
           {{"groups", s.ranking.groups},
            {"kendall_tau", or_null(s.ranking.kendall_tau)},
            {"regret", or_null(s.ranking.regret)},
            {"oom_choices", s.ranking.oom_choices},
            {"finite_regret", or_null(s.ranking.finite_regret)}}},
          {"interval_coverage", or_null(s.interval_coverage)},
          {"interval_half_width", or_null(s.interval_half_width)}};
}

}  // namespace

std::string validation_json(const Validation& validation) {
  Json rows = Json::array();
  for (const ValidationRow& row : validation.rows) rows.push_back(row_json(row));
  Json sources = Json::object();
  for (const auto& [name, summary] : validation.summaries.sources) {
    sources[name] = summary_json(summary);
  }
  const Json json = {
      {"rows", std::move(rows)},
      {"summary",
       {{"overall", summary_json(validation.summaries.overall)}, {"sources", std::move(sources)}}}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace windtunnel
