#include <fmt/format.h>

#include <algorithm>

#include "scenarios/rules/rules.h"
#include "scenarios/scenario_place.h"

namespace windtunnel {

namespace {

/// The product of positive factors; nullopt when it leaves 64 bits.
std::optional<std::int64_t> product(std::initializer_list<std::int64_t> factors) {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result)) return std::nullopt;
  }
  return result;
}

std::string degrees_text(const Plan& plan) {
  std::string text = fmt::format("tp {} * pp {} * cp {}", plan.tp, plan.pp, plan.cp);
  if (plan.dp) text += fmt::format(" * dp {}", *plan.dp);
  return text;
}

/// tp * pp * cp * dp = devices, with dp free to take what is left when it is auto.
void check_product(const Scenario& s, std::vector<Diagnostic>& problems) {
  const Plan& plan = s.plan;
  const std::int64_t devices = s.cluster.devices();
  const auto total = product({plan.tp, plan.pp, plan.cp, plan.dp.value_or(1)});
  const char* key = plan.dp ? "plan.dp" : "plan.tp";
  if (!total) {
    problems.push_back(
        diagnostic_at(s, key, fmt::format("{} is more than 64 bits hold", degrees_text(plan)), ""));
  } else if (plan.dp && *total != devices) {
    problems.push_back(diagnostic_at(
        s, key,
        fmt::format("{} = {} devices, but the cluster has {} (nodes {} * devices_per_node {})",
                    degrees_text(plan), *total, devices, s.cluster.nodes,
                    s.cluster.devices_per_node),
        "dp: auto takes the devices that are left"));
  } else if (!plan.dp && devices % *total != 0) {
    problems.push_back(diagnostic_at(
        s, key,
        fmt::format(
            "{} = {} does not divide the cluster's {} devices (nodes {} * devices_per_node {})",
            degrees_text(plan), *total, devices, s.cluster.nodes, s.cluster.devices_per_node),
        ""));
  }
}

/// Expert groups lie within the ranks that share a pipeline stage: ep * etp divides tp * cp * dp.
/// An etp left out is taken as 1 here, the least demanding: which default holds is the preset's
/// rule.
void check_experts(const Scenario& s, std::vector<Diagnostic>& problems) {
  const Plan& plan = s.plan;
  if (plan.ep == 1 && !plan.etp) return;
  const std::int64_t etp = plan.etp.value_or(1);
  const auto stage = product({plan.tp, plan.cp, data_parallel_degree(s)});
  const auto experts = product({plan.ep, etp});
  if (!s.model.moe && plan.ep > 1) {
    problems.push_back(diagnostic_at(
        s, "plan.ep", fmt::format("ep is {}, but the model has no experts", plan.ep), "ep: 1"));
  } else if (!stage || !experts || *stage % *experts != 0) {
    problems.push_back(
        diagnostic_at(s, plan.ep > 1 ? "plan.ep" : "plan.etp",
                      fmt::format("ep {} * etp {} does not divide tp {} * cp {} * dp {}", plan.ep,
                                  etp, plan.tp, plan.cp, data_parallel_degree(s)),
                      "ep divides dp * cp, times tp when etp is 1"));
  } else if (s.model.moe && s.model.moe->experts % plan.ep != 0) {
    problems.push_back(diagnostic_at(
        s, "plan.ep",
        fmt::format("ep {} does not divide the model's {} experts", plan.ep, s.model.moe->experts),
        ""));
  }
}

void check_shard_degree(const Scenario& s, std::vector<Diagnostic>& problems) {
  const auto shard = s.plan.sharding.shard_degree;
  const std::int64_t dp = data_parallel_degree(s);
  if (!shard || (dp * s.plan.cp) % *shard == 0) return;
  problems.push_back(diagnostic_at(
      s, "plan.sharding.shard_degree",
      fmt::format("shard_degree {} does not divide dp {} * cp {}", *shard, dp, s.plan.cp), ""));
}

}  // namespace

std::int64_t data_parallel_degree(const Scenario& s) {
  if (s.plan.dp) return *s.plan.dp;
  return s.cluster.devices() / (std::int64_t{s.plan.tp} * s.plan.pp * s.plan.cp);
}

std::vector<Diagnostic> check_degrees(const Scenario& s) {
  std::vector<Diagnostic> problems;
  check_product(s, problems);
  if (!problems.empty()) return problems;
  check_experts(s, problems);
  check_shard_degree(s, problems);
  return problems;
}

}  // namespace windtunnel
