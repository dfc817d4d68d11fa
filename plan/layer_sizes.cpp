#include "plan/layer_sizes.h"

namespace windtunnel {

LayerSizes::LayerSizes(const RoleDraft& d) {
  const Model& m = d.model();
  const ResolvedPlan& p = d.plan();
  const Batch& b = d.scenario.scenario.batch;
  micro = b.micro;
  sequence = b.sequence;
  rows = micro * sequence;
  norm_rows = p.sequence_parallel ? rows / p.tp : rows;
  hidden = m.hidden;
  heads = m.heads / p.tp;
  kv_heads = m.kv_heads / p.tp;
  head_dim = m.head_dim;
  query = heads * head_dim;
  qkv = (heads + 2 * kv_heads) * head_dim;
  ffn = m.ffn / p.tp;
  fc1 = m.gated() ? 2 * ffn : ffn;
  scores = micro * heads * sequence * sequence;
  act = p.multiplied();
  norm_attr = p.sequence_parallel ? kSequenceShard : kAttrNone;
}

}  // namespace windtunnel
