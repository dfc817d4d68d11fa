#include <cstdlib>

#include "plan/frameworks/framework.h"

namespace windtunnel {

// nanotron. Sources: huggingface/nanotron src/nanotron/models/base.py (stages filled by cumulative
// cost), optim/gradient_accumulator.py (fp32 gradients beside bf16 ones),
// parallel/pipeline_parallel/p2p.py (blocking meta + tensor transfers), models/llama.py (unpadded
// vocabulary).
FrameworkRules nanotron_rules(const Scenario&) {
  FrameworkRules r;
  r.name = "nanotron";
  r.layer_split = LayerSplit::by_cost;
  r.fuse_wgrad_accumulation = false;
  r.half_grads = HalfGrads::kept;
  r.qkv_copies = true;
  r.swiglu_keeps_silu = true;
  if (getenv("KEEPG")) r.keep_gathered_input = true;
  r.embedding_dropout = false;
  r.buckets_on_first_stage_only = false;
  r.default_bucket = 6'553'600;  // PyTorch DDP's 25 MiB of fp32, reducer.hpp
  r.bucket_per_dp = 0;
  return r;
}

}  // namespace windtunnel
