#include <fmt/format.h>

#include "scenarios/rules/rules.h"
#include "scenarios/scenario_place.h"

namespace windtunnel {

namespace {

/// `whole` of `name` is cut into `parts` by `key`: it must divide.
struct Cut {
  const char* key;
  const char* name;
  std::int64_t whole;
  const char* by;
  std::int64_t parts;
};

void check_cut(const Scenario& s, const Cut& cut, std::vector<Diagnostic>& problems) {
  if (cut.whole % cut.parts == 0) return;
  problems.push_back(diagnostic_at(
      s, cut.key,
      fmt::format("{} {} does not divide {} {}", cut.by, cut.parts, cut.name, cut.whole), ""));
}

/// Each rank holds whole key/value heads, or several ranks hold copies of one.
void check_kv_heads(const Scenario& s, std::vector<Diagnostic>& problems) {
  const std::int64_t kv_heads = s.model.kv_heads;
  const std::int64_t tp = s.plan.tp;
  if (kv_heads % tp == 0 || tp % kv_heads == 0) return;
  problems.push_back(diagnostic_at(
      s, "plan.tp", fmt::format("tp {} and the model's {} kv_heads do not divide", tp, kv_heads),
      "kv_heads is a multiple of tp, or tp a multiple of kv_heads"));
}

void check_batch(const Scenario& s, std::vector<Diagnostic>& problems) {
  const std::int64_t dp = data_parallel_degree(s);
  const Batch& batch = s.batch;
  if (batch.global % dp == 0 && (batch.global / dp) % batch.micro == 0) return;
  problems.push_back(
      diagnostic_at(s, "batch.global",
                    fmt::format("global batch {} is not a multiple of micro {} * dp {}",
                                batch.global, batch.micro, dp),
                    "each replica takes the same whole number of micro-batches"));
}

}  // namespace

std::vector<Diagnostic> check_division(const Scenario& s) {
  std::vector<Diagnostic> problems;
  const Plan& plan = s.plan;
  check_cut(s, {"plan.tp", "the model's heads", s.model.heads, "tp", plan.tp}, problems);
  check_kv_heads(s, problems);
  if (s.model.ffn > 0) {
    check_cut(s, {"plan.tp", "the model's ffn", s.model.ffn, "tp", plan.tp}, problems);
  }
  if (s.model.moe && plan.etp) {
    check_cut(s, {"plan.etp", "the experts' ffn", s.model.moe->ffn, "etp", *plan.etp}, problems);
  }
  check_cut(s, {"plan.cp", "batch.sequence", s.batch.sequence, "cp", plan.cp}, problems);
  if (plan.sequence_parallel.value_or(false) && s.batch.sequence % plan.cp == 0) {
    const std::int64_t tokens = s.batch.sequence / plan.cp;
    check_cut(s, {"plan.sequence_parallel", "a sequence of", tokens, "with tp", plan.tp}, problems);
  }
  check_batch(s, problems);
  return problems;
}

}  // namespace windtunnel
