#include "plan/resolve_sharding.h"

#include <algorithm>
#include <string>
#include <utility>

#include "plan/preset_defaults.h"

namespace windtunnel {

namespace {

/// What cannot be sharded, and why.
void check_sharded_weights(const Scenario& s, const FrameworkRules& rules, Resolver& r,
                           const ResolvedPlan& p) {
  const int k = p.reshard_after_forward;
  if (k > 1 && (p.shard_degree % k != 0 || k >= p.shard_degree)) {
    r.error("plan.sharding.reshard_after_forward",
            "the part of " + std::to_string(k) +
                " devices that keeps weights after forward does not divide the " +
                std::to_string(p.shard_degree) + " of a shard group",
            "true, false, or a proper divisor of the shard group");
  }
  if (p.pp == 1) return;
  if (s.model.mtp_layers > 0) {
    r.error("plan.pp",
            "multi-token prediction reads the embedding on the last stage too: two stages would "
            "hold it in units that are sharded apart",
            "pp: 1, sharding: {kind: zero1}, or mtp_layers: 0");
  }
  if (k > 1) {
    r.error("plan.sharding.reshard_after_forward",
            "pipeline stages hold several micro-batches between forward and backward, and parts "
            "are kept once",
            "true or false");
  }
  if (rules.units.unshard == UnshardKind::host_limited) {
    r.error("plan.pp",
            "FullyShardedDataParallel reduces in every backward and has no pipeline stages",
            "pp: 1, or preset: fsdp2");
  }
  if (s.model.tied_embeddings) {
    r.error("plan.pp",
            "tied embeddings on two stages would lie in two units that are sharded apart",
            "pp: 1, or tied_embeddings: false");
  }
}

/// Backwards in two parts reduce gradients behind the second.
void check_split_backward(Resolver& r, const ResolvedPlan& p) {
  if (!p.splits_backward) return;
  if (p.shards_grads())
    r.error("plan.sharding.kind",
            "ZeRO-2 reduces gradients as backward makes them; with backwards in two parts, as this "
            "schedule's, that is not built",
            "zero1 or fsdp, or schedule: {kind: 1f1b}");
  const bool empty = std::find(p.layers_per_chunk.begin(), p.layers_per_chunk.end(), 0) !=
                     p.layers_per_chunk.end();
  if (empty && (p.shards_weights() || p.overlap_grad_reduce))
    r.error("plan.schedule.layers_per_stage",
            "a chunk without layers has no second part of backward to reduce its gradients behind",
            "a layer for every chunk, or " +
                std::string(p.shards_weights() ? "sharding: {kind: zero1, overlap_grad_reduce: "
                                                 "false}"
                                               : "overlap_grad_reduce: false"));
}

/// Shard groups inside the data-parallel group, and what is gathered when.
void resolve_shard_groups(const Scenario& s, const FrameworkRules& rules, Resolver& r,
                          ResolvedPlan& p, const std::string& preset) {
  const ShardingPart& part = s.plan.sharding;
  if (p.sharding == ShardingKind::none) {
    if (part.shard_degree && *part.shard_degree > 1)
      r.error("plan.sharding.shard_degree",
              "shard_degree says how many devices share a shard, and nothing is sharded",
              "kind: hsdp, or leave shard_degree out");
  } else {
    // Hybrid sharding keeps shard groups inside a node (HYBRID_SHARD, PyTorch's default groups).
    const int in_node = std::max(1, s.cluster.devices_per_node / p.tp);
    const int all = p.replica_ranks();
    const bool hybrid = p.sharding == ShardingKind::hsdp && all % in_node == 0;
    p.shard_degree = r.take("plan.sharding.shard_degree", part.shard_degree,
                            hybrid ? std::min(all, in_node) : all,
                            hybrid      ? "one node"
                            : p.cp == 1 ? "computed (dp)"
                                        : "computed (dp * cp)");
    if (p.shard_degree < 1 || all % p.shard_degree != 0) p.shard_degree = all;
  }
  if (rules.name == "deepspeed" && p.pp > 1 && p.sharding != ShardingKind::none &&
      p.sharding != ShardingKind::zero1) {
    r.error("plan.pp", "DeepSpeed's pipeline engine refuses ZeRO-2 and ZeRO-3",
            "pp: 1, or sharding: {kind: zero1}");
  }
  if (!cuts_weights(p.sharding)) {
    const std::pair<const char*, bool> given[] = {
        {"plan.sharding.reshard_after_forward", part.reshard_after_forward.has_value()},
        {"plan.sharding.prefetch", part.prefetch.has_value()},
        {"plan.sharding.separate_reduce_group", part.separate_reduce_group.has_value()}};
    for (const auto& [key, is_given] : given) {
      if (is_given)
        r.error(key, "only sharded weights are gathered, let go and reduced by unit",
                "kind: fsdp, hsdp or zero3");
    }
    return;
  }
  // torchtitan's policy (fsdp.py): pipeline stages keep their weights whole.
  p.reshard_after_forward =
      static_cast<int>(r.take("plan.sharding.reshard_after_forward", part.reshard_after_forward,
                              std::int64_t{p.pp == 1 ? 1 : 0}, preset));
  p.prefetch =
      static_cast<int>(r.take("plan.sharding.prefetch", part.prefetch, std::int64_t{1}, preset));
  p.forward_prefetch = part.prefetch ? p.prefetch : 0;
  p.separate_reduce_group =
      r.take("plan.sharding.separate_reduce_group", part.separate_reduce_group, false, preset);
  check_sharded_weights(s, rules, r, p);
}

}  // namespace

void resolve_sharding(const Scenario& s, const FrameworkRules& rules, Resolver& r, ResolvedPlan& p,
                      const std::string& preset) {
  const PresetDefaults& d = defaults_of(s.plan.preset);
  const ShardingPart& part = s.plan.sharding;
  p.sharding = r.take("plan.sharding.kind", part.kind, d.sharding, preset);
  const bool modern = s.stack.framework.find("bridge") != std::string::npos ||
                      s.stack.framework.find("nemo") != std::string::npos;
  const bool at_end = p.sharding == ShardingKind::zero1 && rules.zero1_reduces_at_end;
  p.overlap_grad_reduce = r.take("plan.sharding.overlap_grad_reduce", part.overlap_grad_reduce,
                                 !at_end && (d.overlap_grad_reduce || modern), preset);
  p.overlap_param_gather = r.take("plan.sharding.overlap_param_gather", part.overlap_param_gather,
                                  d.overlap_param_gather || modern, preset);
  if (p.sharding == ShardingKind::none) p.overlap_param_gather = false;
  resolve_shard_groups(s, rules, r, p, preset);
  const std::int64_t bucket =
      std::max(rules.default_bucket, rules.bucket_per_dp * p.replica_ranks());
  p.bucket = r.take("plan.sharding.bucket", part.bucket, bucket, "framework rule " + rules.name);
  p.first_bucket = part.bucket ? 0 : rules.first_bucket;
  check_split_backward(r, p);
}

}  // namespace windtunnel
