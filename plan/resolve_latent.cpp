#include "plan/resolve_latent.h"

#include <string>

namespace windtunnel {

namespace {

void check_prediction(const Model& m, Resolver& r, const ResolvedPlan& p) {
  if (m.mtp_layers > 0 && m.hidden % p.tp != 0)
    r.error("plan.tp",
            "multi-token prediction projects to columns of hidden = " + std::to_string(m.hidden) +
                ", which tp = " + std::to_string(p.tp) + " does not divide",
            "a tp that divides hidden, or mtp_layers: 0");
}

void check_widths(const Model& m, Resolver& r) {
  const std::int64_t key = m.mla->qk_nope_head_dim + m.mla->qk_rope_head_dim;
  if (m.head_dim != key && m.head_dim != m.mla->v_head_dim)
    r.error("model.head_dim",
            "latent attention states its own widths: " + std::to_string(key) +
                " of queries and keys, " + std::to_string(m.mla->v_head_dim) + " of values",
            "leave head_dim out");
  if (m.kv_heads != m.heads)
    r.error("model.kv_heads", "every head of latent attention has keys and values of its own",
            "leave kv_heads out");
}

/// Keys and values on several context-parallel ranks.
void check_context(const Scenario& s, const FrameworkRules& rules, Resolver& r,
                   const ResolvedPlan& p) {
  const MlaShape& mla = *s.model.mla;
  const bool differ = mla.qk_nope_head_dim + mla.qk_rope_head_dim != mla.v_head_dim;
  const bool rings = p.cp_heads < p.cp && p.cp_kind != CpKind::all_gather;
  if (p.cp > 1 && differ && rules.latent_keys_in_rings && !rings)
    r.error("plan.cp_kind",
            "TransformerEngine takes keys wider than values around a ring alone: where their "
            "widths differ it refuses all_gather and a2a",
            "cp_kind: ring");
  if (p.cp_heads > 1 && p.recomputes(RecomputeModule::mla_up_proj))
    r.error("plan.recompute.modules",
            "ranks that exchange heads keep the exchanged ones: to project them up again would "
            "free nothing",
            "leave mla_up_proj out, or cp_kind: ring or all_gather");
}

}  // namespace

void check_latent(const Scenario& s, const FrameworkRules& rules, Resolver& r,
                  const ResolvedPlan& p) {
  const Model& m = s.model;
  check_prediction(m, r, p);
  if (!m.mla) {
    if (p.recomputes(RecomputeModule::mla_up_proj))
      r.error("plan.recompute.modules", "mla_up_proj is of latent attention, which the model lacks",
              "leave mla_up_proj out, or give the model its model.mla");
    return;
  }
  check_widths(m, r);
  if (m.bias || m.qkv_bias)
    r.error("model.bias", "the products of latent attention have no biases in any stack",
            "bias: false");
  if (m.qk_norm)
    r.error("model.qk_norm", "latent attention norms its latents, not its heads", "qk_norm: false");
  if (m.position != PositionKind::rope)
    r.error("model.position", "latent attention rotates a part of its heads", "position: rope");
  if (m.mla->qk_rope_head_dim % 2 != 0)
    r.error("model.mla", "rotary columns come in pairs: qk_rope_head_dim is odd",
            "an even qk_rope_head_dim");
  if (p.attention == AttentionKind::unfused)
    r.error("plan.attention",
            "heads whose keys and values differ in width run in fused attention alone",
            "attention: flash");
  check_context(s, rules, r, p);
}

}  // namespace windtunnel
