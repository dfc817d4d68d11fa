#include "plan/resolve_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/architectures/attention_window.h"
#include "plan/preset_defaults.h"

namespace windtunnel {

namespace {

/// Ranks between two neighbours on the cp axis.
std::int64_t cp_stride(const ResolvedPlan& p) {
  std::int64_t stride = 1;
  for (const std::string& axis : p.order) {
    if (axis == "cp") return stride;
    if (axis == "tp") stride *= p.tp;
    if (axis == "dp") stride *= p.dp;
    if (axis == "pp") stride *= p.pp;
  }
  return stride;  // an axis the order leaves out is outermost
}

/// Of the ranks of a context-parallel group, the most consecutive ones that an NVLink domain holds
/// and that key/value heads can be shared out among.
int ranks_in_domain(const Scenario& s, const ResolvedPlan& p) {
  const std::int64_t in_domain = std::max<std::int64_t>(1, s.cluster.nvlink_domain / cp_stride(p));
  const std::int64_t heads = std::max<std::int64_t>(1, s.model.kv_heads / p.tp);
  return static_cast<int>(std::gcd(std::gcd(in_domain, std::int64_t{p.cp}), heads));
}

void check_heads(const Scenario& s, Resolver& r, const ResolvedPlan& p) {
  const std::int64_t heads = s.model.kv_heads / p.tp;
  if (heads % p.cp_heads == 0) return;
  r.error("plan.cp_kind",
          fmt::format("ulysses gives every rank whole heads: cp = {} does not divide the {} "
                      "key/value heads of a tp rank",
                      p.cp, heads),
          "cp_kind: ring, all_gather or ulysses+ring, or a smaller cp");
}

/// Attention whose keys are on several ranks at once.
void check_blocks(const Scenario& s, Resolver& r, const ResolvedPlan& p) {
  if (p.attention == AttentionKind::unfused) {
    r.error("plan.attention",
            "unfused attention keeps no log(sum(exp)) to merge the parts of a softmax by: no stack "
            "runs it on keys of several ranks",
            "attention: flash, or cp_kind: ulysses");
  }
  const Model& m = s.model;
  bool local = false;
  for (std::int64_t layer = 0; layer < m.layers; ++layer)
    local |= attention_window(m, layer, s.batch.sequence) > 0;
  if (local) {
    r.error("plan.cp_kind", "a sliding window over keys of several ranks is not built",
            "cp_kind: ulysses, where every rank has its heads' whole sequence");
  }
  if (s.model.position == PositionKind::alibi) {
    r.error("plan.cp_kind",
            "TransformerEngine, ring-flash-attention and PyTorch have no ALiBi on keys of several "
            "ranks",
            "cp_kind: ulysses");
  }
}

/// A shard group is whole context-parallel groups or lies in one.
void check_shards(Resolver& r, const ResolvedPlan& p) {
  const auto fits = [&](int ways) { return ways % p.cp == 0 || p.cp % ways == 0; };
  if (!p.shards_states() || fits(p.shard_degree)) return;
  r.error(
      "plan.sharding.shard_degree",
      fmt::format("shard groups of {} would cut through groups of cp = {}", p.shard_degree, p.cp),
      "a multiple or a divisor of cp");
}

}  // namespace

void resolve_context(const Scenario& s, Resolver& r, ResolvedPlan& p, const std::string& preset) {
  const PresetDefaults& d = defaults_of(s.plan.preset);
  if (p.cp == 1) return;
  p.cp_kind = r.take("plan.cp_kind", s.plan.cp_kind, d.cp_kind, preset);
  if (s.batch.sequence % (std::int64_t{2} * p.cp) != 0) {
    r.error("plan.cp",
            fmt::format("each of {} ranks takes two chunks of the sequence, and {} tokens are not "
                        "{} equal ones",
                        p.cp, s.batch.sequence, 2 * p.cp),
            "a sequence that 2 * cp divides");
  }
  if (p.cp_kind == CpKind::ulysses) p.cp_heads = p.cp;
  if (p.cp_kind == CpKind::ulysses_ring) p.cp_heads = ranks_in_domain(s, p);
  const bool rings = p.cp_kind == CpKind::ring || p.cp_kind == CpKind::ulysses_ring;
  if (p.cp_kind == CpKind::ulysses_ring)
    r.note("plan.cp_heads", p.cp_heads, "computed (cp ranks of one NVLink domain)");
  p.overlap_cp = r.take("plan.overlap.cp", s.plan.overlap.cp, rings && d.overlap_cp, preset);
  if (!rings && s.plan.overlap.cp.value_or(false)) {
    r.error("plan.overlap.cp", "only hops around a ring have attention to hide behind",
            "cp: false, or cp_kind: ring");
  }
  if (p.cp_kind == CpKind::ulysses) check_heads(s, r, p);
  if (p.cp_kind != CpKind::ulysses) check_blocks(s, r, p);
  check_shards(r, p);
}

}  // namespace windtunnel
