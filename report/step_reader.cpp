#include "report/step_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "report/breakdown_terms.h"
#include "report/memory_text.h"
#include "report/step_fields.h"
#include "report/step_json.h"

namespace windtunnel {

namespace {

using Kind = LocatedJson::Kind;

Breakdown read_breakdown(const StepFields& in, const LocatedJson& json) {
  Breakdown b;
  for (const BreakdownTerm& term : breakdown_terms()) {
    const bool inside = *term.group != '\0';
    const LocatedJson& map = inside ? in.member(json, term.group, Kind::map) : json;
    value_of(term, b) = in.seconds(in.member(map, term.key, Kind::number), term.key);
  }
  for (const auto& [name, value] : in.member(json, "compute_by_module", Kind::map).members) {
    in.check_text(value, name);
    b.compute_by_module.emplace_back(name, in.seconds(value, name));
  }
  return b;
}

std::vector<Breakdown> read_stages(const StepFields& in, const LocatedJson& step) {
  const LocatedJson& list = in.member(step, "breakdown_by_stage_s", Kind::list);
  if (list.items.size() > kMostReadStages) in.refuse(list, "over 1024 stages");
  std::vector<Breakdown> stages;
  for (const LocatedJson& item : list.items) stages.push_back(read_breakdown(in, item));
  return stages;
}

StageMemory read_stage_memory(const StepFields& in, const LocatedJson& json) {
  StageMemory stage{.stage = in.stage(json, "stage"),
                    .peak_allocated_bytes = in.whole(json, "peak_allocated_bytes"),
                    .peak_reserved_bytes = in.whole(json, "peak_reserved_bytes"),
                    .peak_device_bytes = in.whole(json, "peak_device_bytes")};
  for (const auto& [name, value] : in.member(json, "by_category", Kind::map).members) {
    in.check_text(value, name);
    stage.by_category.emplace_back(name, in.whole_value(value, name));
  }
  stage.moment = in.text_if_any(json, "moment");
  return stage;
}

Verdict read_verdict(const StepFields& in, const LocatedJson& memory) {
  const std::string word = in.text(memory, "verdict");
  for (const Verdict verdict : {Verdict::fits, Verdict::tight, Verdict::oom}) {
    if (word == name_of(verdict)) return verdict;
  }
  in.refuse(memory, "'verdict' is '" + word + "'", "fits, tight or oom");
}

MemoryAnswer read_memory(const StepFields& in, const LocatedJson& json) {
  MemoryAnswer memory{.verdict = read_verdict(in, json)};
  if (in.optional(json, "capacity_bytes")) memory.capacity_bytes = in.whole(json, "capacity_bytes");
  std::set<int> seen;
  for (const LocatedJson& item : in.member(json, "stages", Kind::list).items) {
    memory.stages.push_back(read_stage_memory(in, item));
    if (!seen.insert(memory.stages.back().stage).second) {
      in.refuse(item, fmt::format("memory of stage {} stands twice", memory.stages.back().stage));
    }
  }
  if (memory.stages.empty()) return memory;
  memory.fullest_stage = in.stage(json, "fullest_stage");
  if (!seen.contains(memory.fullest_stage)) {
    in.refuse(json,
              fmt::format("the fullest stage, {}, is not among the stages", memory.fullest_stage));
  }
  return memory;
}

std::vector<TrafficRow> read_traffic(const StepFields& in, const LocatedJson& step) {
  std::vector<TrafficRow> rows;
  std::set<std::tuple<int, std::string, std::string>> seen;
  for (const LocatedJson& item : in.member(step, "traffic", Kind::list).items) {
    TrafficRow row{.stage = in.stage(item, "stage"),
                   .kind = in.text(item, "kind"),
                   .communicator = in.text(item, "communicator"),
                   .count = in.whole(item, "count"),
                   .elements = in.whole(item, "elements"),
                   .bytes = in.whole(item, "bytes")};
    if (!seen.insert({row.stage, row.kind, row.communicator}).second) {
      in.refuse(item, fmt::format("traffic of stage {}, {} on {}, stands twice", row.stage,
                                  row.kind, row.communicator));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

StepKind read_kind(const StepFields& in, const LocatedJson& step) {
  const std::string word = in.text(step, "kind");
  for (const StepKind kind : {StepKind::simulation, StepKind::run}) {
    if (word == name_of(kind)) return kind;
  }
  in.refuse(step, "is no step: 'kind' is '" + word + "', not simulation or run",
            "such a file comes from: windtunnel simulate S.yaml --json");
}

StepReport read_step(const StepFields& in, const LocatedJson& json) {
  StepReport r;
  r.kind = read_kind(in, json);
  r.id = in.text(json, "id");
  r.name = in.text_if_any(json, "name");
  r.model_line = in.text_if_any(json, "model");
  r.cluster_line = in.text_if_any(json, "cluster");
  r.plan_line = in.text_if_any(json, "plan");
  r.stack_line = in.text_if_any(json, "stack");
  const LocatedJson& time = in.member(json, "step_time_s", Kind::number);
  r.step_time_s = in.seconds(time, "step_time_s");
  if (r.step_time_s < 0) in.refuse(time, "'step_time_s' is negative");
  r.step_time_interval_s = {r.step_time_s, r.step_time_s};
  if (const LocatedJson* interval = in.optional(json, "step_time_interval_s")) {
    r.step_time_interval_s = in.range(*interval, "step_time_interval_s");
  }
  if (const LocatedJson* spread = in.optional(json, "step_time_spread_s")) {
    r.step_time_spread_s = in.range(*spread, "step_time_spread_s");
  }
  r.tokens_per_s = in.number(json, "tokens_per_s");
  r.tokens_per_s_per_device = in.number(json, "tokens_per_s_per_device");
  r.mfu = in.number(json, "mfu");
  r.hfu = in.number(json, "hfu");
  r.flop_convention = in.text_if_any(json, "flop_convention");
  r.breakdown = read_breakdown(in, in.member(json, "breakdown_s", Kind::map));
  r.stages = read_stages(in, json);
  r.memory = read_memory(in, in.member(json, "memory", Kind::map));
  r.traffic = read_traffic(in, json);
  return r;
}

/// A scenario that was refused has {id, memory: null, errors} in its place.
bool was_refused(const LocatedJson& json) {
  const LocatedJson* errors = json.find("errors");
  return errors && errors->kind == Kind::list && !errors->items.empty();
}

}  // namespace

StepFile read_steps(const LocatedJson& root, const std::string& path) {
  const StepFields in(path);
  std::vector<const LocatedJson*> documents{&root};
  if (root.kind == Kind::list) {
    documents.clear();
    for (const LocatedJson& item : root.items) documents.push_back(&item);
  }
  StepFile file;
  std::set<std::string> ids;
  for (const LocatedJson* json : documents) {
    if (was_refused(*json)) {
      file.refused.push_back(in.text(*json, "id"));
      continue;
    }
    file.steps.push_back(read_step(in, *json));
    if (!ids.insert(file.steps.back().id).second) {
      in.refuse(*json, "id '" + file.steps.back().id + "' stands twice");
    }
  }
  if (documents.empty()) in.refuse(root, "holds no step");
  return file;
}

StepFile read_step_file(const std::string& path) {
  return read_steps(read_located_json(path), path);
}

}  // namespace windtunnel
