#include "plan/resolve_experts.h"

#include <fmt/format.h>

#include <algorithm>

namespace windtunnel {

namespace {

/// Megatron-LM shares experts like the rest (arguments.py: expert_tensor_parallel_size defaults to
/// tensor_model_parallel_size); others where the expert group cannot span tp. A run whose groups of
/// ep do not fit beside tp of them cannot have been of that default.
int default_etp(const Scenario& s, const ResolvedPlan& p) {
  const bool spans_tp = s.plan.ep % s.plan.tp == 0;
  const bool shares_fit = p.replica_ranks() % s.plan.ep == 0;
  return !spans_tp || (s.plan.preset == Preset::megatron && shares_fit) ? s.plan.tp : 1;
}

/// Size of the inner one of the two axes whose ranks see other tokens.
int inner_replicas(const ResolvedPlan& p) {
  const auto place = [&p](const char* axis) {  // what the order leaves out is outermost, cp first
    return std::find(p.order.begin(), p.order.end(), axis) - p.order.begin();
  };
  return place("cp") <= place("dp") ? p.cp : p.dp;
}

/// Keys of experts in the plan of a model without them.
void check_unused(const Scenario& s, Resolver& r, const ResolvedPlan& p) {
  if (s.plan.etp.value_or(1) > 1)
    r.error("plan.etp", "it says how many ranks share an expert, and the model has none",
            "leave etp out, or give the model its model.moe");
  if (s.plan.overlap.ep.value_or(false))
    r.error("plan.overlap.ep",
            "it is shared experts that run beside the exchange of rows, and the model has none",
            "ep: false");
  using M = RecomputeModule;
  for (const M module : {M::moe, M::moe_activation, M::shared_experts}) {
    if (!p.recomputes(module)) continue;
    r.error("plan.recompute.modules",
            value_name(std::vector<M>{module}) + " is of experts, and the model has none",
            "mlp or activation, or give the model its model.moe");
  }
}

void check_model(const Scenario& s, Resolver& r, const ResolvedPlan& p) {
  if (s.model.bias) {
    r.error("model.bias", "grouped products of experts have no biases in any stack", "bias: false");
  }
  if (p.tp > 1 && !p.sequence_parallel) {
    r.error("plan.sequence_parallel",
            "experts under tensor parallelism need it (Megatron-LM refuses the rest): each tp rank "
            "would send the same tokens",
            "sequence_parallel: true");
  }
  const std::int64_t width = s.model.moe->shared_experts * s.model.moe->ffn;
  if (s.model.moe->ffn % p.etp != 0 || width % p.tp != 0) {
    r.error("plan.etp",
            fmt::format("etp = {} and tp = {} do not divide the experts' width {}", p.etp, p.tp,
                        s.model.moe->ffn),
            "etp: 1");
  }
}

/// A captured graph cannot wait for the host, which has to count rows where none are dropped.
void check_graphs(const Scenario& s, Resolver& r, const ResolvedPlan& p) {
  if (p.graphs == GraphScope::none || s.model.moe->capacity_factor) return;
  r.error("plan.cuda_graphs",
          "experts without a capacity make the host wait for their rows' counts, which no graph "
          "holds; graphs of the rest of a layer are not built",
          "cuda_graphs: false, or model.moe.capacity_factor");
}

/// Expert groups divide the ranks that see other tokens, and none cuts through a group of these.
bool check_places(Resolver& r, const ResolvedPlan& p) {
  const int ways = p.expert_ways;
  if (p.replica_ranks() % ways != 0) {
    r.error("plan.ep",
            fmt::format("an expert group spans {} places of the data-parallel and context-parallel "
                        "axes, which do not divide dp * cp = {}",
                        ways, p.replica_ranks()),
            "change ep or dp");
    return false;
  }
  const int inner = inner_replicas(p);
  if (ways % inner == 0 || inner % ways == 0) return true;
  r.error("plan.ep",
          fmt::format("expert groups of {} places would cut through groups of {}, the inner of the "
                      "data-parallel and the context-parallel axis",
                      ways, inner),
          fmt::format("an ep whose places {} divides, or that divide it", inner));
  return false;
}

void check_sharding(Resolver& r, const ResolvedPlan& p) {
  if (p.shards_weights() && p.reshard_after_forward > 1) {
    r.error("plan.sharding.reshard_after_forward",
            "parts of the data-parallel group that keep weights do not meet expert groups in any "
            "stack",
            "true or false");
  } else if (p.shards_states() && p.shard_degree % p.expert_ways != 0) {
    r.error("plan.sharding.shard_degree",
            fmt::format("shard groups of {} do not hold whole expert groups, which span {} places: "
                        "no stack spreads a layer's experts over replicas of a shard group",
                        p.shard_degree, p.expert_ways),
            fmt::format("a multiple of {}, or a smaller ep", p.expert_ways));
  }
}

}  // namespace

void resolve_experts(const Scenario& s, Resolver& r, ResolvedPlan& p, const std::string& preset) {
  if (!s.model.moe) return check_unused(s, r, p);
  p.ep = s.plan.ep;
  r.note("plan.ep", p.ep, "scenario");
  p.etp = r.take("plan.etp", s.plan.etp, default_etp(s, p), preset);
  p.overlap_ep = r.take("plan.overlap.ep", s.plan.overlap.ep, false, preset);
  if (p.overlap_ep && s.model.moe->shared_experts == 0) {
    r.error("plan.overlap.ep",
            "it is shared experts that run beside the exchange of rows, and the model has none",
            "ep: false");
  }
  p.routing_ring = p.cp;
  p.routing_parts = p.cp * (p.sequence_parallel ? p.tp : 1);
  if (p.etp != 1 && p.etp != p.tp) {
    r.error("plan.etp", fmt::format("etp = {} is neither 1 nor tp = {}", p.etp, p.tp),
            "etp: 1 or tp");
    return;
  }
  const bool whole = p.etp != p.tp;
  if (whole && p.ep % p.tp != 0) {
    r.error("plan.ep",
            fmt::format("experts whole on each of tp = {} ranks, in groups of ep = {} that do not "
                        "span them, would have replicas inside tp",
                        p.tp, p.ep),
            "an ep that tp divides, or etp: " + std::to_string(p.tp));
    return;
  }
  p.expert_ways = whole ? p.ep / p.tp : p.ep;
  if (!check_places(r, p)) return;
  check_model(s, r, p);
  check_graphs(s, r, p);
  if (p.ep > 1) check_sharding(r, p);
}

}  // namespace windtunnel
