#include "plan/resolve_offload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/cost/host_cost.h"

namespace windtunnel {

namespace {

constexpr const char* kOptimizer = "plan.offload.optimizer";

void check_optimizer(const FrameworkRules& rules, Resolver& r, const ResolvedPlan& p) {
  constexpr const char* kOff = "optimizer: 0.0";
  const OffloadRules& can = rules.offload;
  if (!can.optimizer) {
    return r.error(kOptimizer,
                   rules.name + " of this date keeps the optimizer of such a plan on the device",
                   kOff);
  }
  if (can.needs_sharded_states && p.sharding == ShardingKind::none) {
    r.error(kOptimizer, rules.name + " offloads a sharded optimizer alone",
            "sharding: {kind: zero1}");
  }
  const bool partly = p.offload_optimizer < 1.0;
  if (partly && !can.part_of_optimizer && p.sharding != ShardingKind::zero3) {
    r.error(kOptimizer, rules.name + " offloads a part of the optimizer under ZeRO-3 alone",
            "optimizer: 1.0, or sharding: {kind: zero3}");
  }
  if (!can.optimizer_alone && p.offload_params < 1.0) {
    r.error(kOptimizer, rules.name + " offloads weights and the optimizer together",
            "params: 1.0, or optimizer: 0.0");
  }
  if (p.optimizer == OptimizerKind::adam8bit) {
    r.error(kOptimizer, "8-bit states are made for the device: the host has no update of them",
            "optimizer: adamw");
  }
  if (p.graphs == GraphScope::iteration) {
    r.error("plan.cuda_graphs", "the host's update stands in the step that a graph would hold",
            "cuda_graphs: false");
  }
}

void check_params(const FrameworkRules& rules, Resolver& r, const ResolvedPlan& p) {
  constexpr const char* kParams = "plan.offload.params";
  if (!rules.offload.params) {
    return r.error(kParams,
                   rules.name + " of this date keeps the weights of such a plan on the device",
                   "params: 0.0");
  }
  if (!p.shards_weights()) {
    r.error(kParams, "weights are offloaded as shards, which are gathered before use",
            "sharding: {kind: zero3} or fsdp over more than one rank");
  }
  if (p.offload_params < 1.0) {
    r.error(kParams, "a unit's shards go to the host together: no part of them", "params: 1.0");
  }
  if (p.offload_optimizer < 1.0) {
    r.error(kParams, "weights on the host are updated there", "optimizer: 1.0");
  }
}

void check_activations(const FrameworkRules& rules, Resolver& r, const ResolvedPlan& p) {
  constexpr const char* kActivations = "plan.offload.activations";
  constexpr const char* kOff = "activations: 0.0";
  const ActivationsOffload can = rules.offload.activations;
  if (can == ActivationsOffload::none) {
    return r.error(kActivations, rules.name + " of this date keeps activations on the device",
                   kOff);
  }
  const int most = *std::max_element(p.layers_per_chunk.begin(), p.layers_per_chunk.end());
  if (std::llround(p.offload_activations * most) == 0) {
    r.error(kActivations,
            fmt::format("{} of the {} layers of a chunk is less than half of one",
                        p.offload_activations, most),
            "a larger fraction");
  }
  if (p.splits_backward) {
    r.error(kActivations,
            "what backwards in two parts read would come back twice: that is not built", kOff);
  }
  if (p.graphs != GraphScope::none) {
    r.error(kActivations, "copies beside captured layers are not built", "cuda_graphs: false");
  }
  if (can == ActivationsOffload::any) return;
  if (p.pp > 1)
    r.error(kActivations, rules.name + " of this date offloads activations without pipeline stages",
            "pp: 1");
  if (p.recompute != RecomputeKind::none)
    r.error(kActivations, rules.name + " of this date offloads activations or recomputes them",
            "recompute: {kind: none}");
  if (p.offload_activations >= 1.0)
    r.error(kActivations, rules.name + " of this date keeps the activations of one layer at least",
            "a fraction below 1");
}

}  // namespace

void resolve_offload(ResolvedScenario& out, Resolver& r, const std::string& preset) {
  const OffloadPart& part = out.scenario.plan.offload;
  ResolvedPlan& p = out.plan;
  const auto origin = [&](double value) { return value > 0.0 ? "scenario" : preset; };
  p.offload_optimizer = part.optimizer;
  p.offload_params = part.params;
  p.offload_activations = part.activations;
  r.note(kOptimizer, p.offload_optimizer, origin(part.optimizer));
  r.note("plan.offload.params", part.params, origin(part.params));
  r.note("plan.offload.activations", part.activations, origin(part.activations));
  p.offload_overlap = r.take("plan.offload.overlap", part.overlap, out.rules.offload.overlaps,
                             "framework rule " + out.rules.name);
  if (p.lora && p.offload_activations + p.offload_params + p.offload_optimizer > 0.0)
    r.error("plan.lora", "adapters with a part of the plan on the host are not built",
            "offload: {}, or lora: none");
  if (part.overlap && p.offload_optimizer <= 0.0) {
    r.error("plan.offload.overlap",
            "gradients and weights travel where the optimizer is offloaded; activations always do "
            "beside kernels",
            "leave it out");
  }
  if (p.offload_activations > 0.0) check_activations(out.rules, r, p);
  if (p.offload_params > 0.0) check_params(out.rules, r, p);
  if (p.offload_optimizer > 0.0) check_optimizer(out.rules, r, p);
  if (p.offload_optimizer <= 0.0 && p.offload_activations <= 0.0) return;
  const Cluster& cluster = out.scenario.cluster;
  if (!cluster.unit && cluster.device != "cpu" && !cluster.host.memory_bandwidth) {
    out.assumptions.push_back(fmt::format(
        "the cluster does not state its hosts' memory bandwidth: {} GB/s of a node, two "
        "processors of eight channels of DDR4-3200",
        kAssumedHostBandwidth.value / 1e9));
  }
}

}  // namespace windtunnel
