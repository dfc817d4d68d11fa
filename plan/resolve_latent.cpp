#include "plan/resolve_latent.h"

namespace windtunnel {

void check_latent(const Scenario& s, Resolver& r, const ResolvedPlan& p) {
  const Model& m = s.model;
  if (!m.mla) {
    if (p.recomputes(RecomputeModule::mla_up_proj))
      r.error("plan.recompute.modules", "mla_up_proj is of latent attention, which the model lacks",
              "leave mla_up_proj out, or give the model its model.mla");
    return;
  }
  if (m.bias || m.qkv_bias)
    r.error("model.bias", "the products of latent attention have no biases in any stack",
            "bias: false");
  if (m.position != PositionKind::rope)
    r.error("model.position", "latent attention rotates a part of its heads", "position: rope");
  if (m.mla->qk_rope_head_dim % 2 != 0)
    r.error("model.mla", "rotary columns come in pairs: qk_rope_head_dim is odd",
            "an even qk_rope_head_dim");
  if (p.attention == AttentionKind::unfused)
    r.error("plan.attention",
            "heads whose keys and values differ in width run in fused attention alone",
            "attention: flash");
  if (s.plan.cp > 1)
    r.error("plan.cp", "latent attention over several context-parallel ranks is not built",
            "cp: 1");
}

}  // namespace windtunnel
