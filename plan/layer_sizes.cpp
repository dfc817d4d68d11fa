#include "plan/layer_sizes.h"

namespace windtunnel {

LayerSizes::LayerSizes(const RoleDraft& d) {
  const Model& m = d.model();
  const ResolvedPlan& p = d.plan();
  const Batch& b = d.scenario.scenario.batch;
  micro = b.micro;
  sequence = b.sequence / p.cp;
  rows = micro * sequence;
  norm_rows = p.sequence_parallel ? rows / p.tp : rows;
  hidden = m.hidden;
  heads = m.heads / p.tp;
  kv_heads = m.kv_heads / p.tp;
  head_dim = value_dim = m.head_dim;
  if (m.mla) {  // every head has keys and values of its own
    kv_heads = heads;
    head_dim = m.mla->qk_nope_head_dim + m.mla->qk_rope_head_dim;
    value_dim = m.mla->v_head_dim;
  }
  query = heads * value_dim;
  keys = kv_heads * (head_dim + value_dim);
  qkv = heads * head_dim + keys;
  ffn = m.ffn / p.tp;
  fc1 = m.gated() ? 2 * ffn : ffn;
  scores = micro * heads * sequence * sequence;
  act = p.multiplied();
  norm_attr = p.sequence_parallel ? kSequenceShard : kAttrNone;
}

LayerSizes LayerSizes::of_core(int ranks) const {
  LayerSizes core = *this;
  core.sequence *= ranks;
  core.rows *= ranks;
  core.norm_rows *= ranks;
  core.heads /= ranks;
  core.kv_heads /= ranks;
  core.query /= ranks;
  core.qkv /= ranks;
  core.keys /= ranks;
  core.scores = core.micro * core.heads * core.sequence * core.sequence;
  return core;
}

}  // namespace windtunnel
