#include "plan/frameworks/framework.h"

namespace windtunnel {

namespace {

// One layer with sequence-parallel asynchronous linears, counted in models/llama.py and the files
// it calls. Forward: two Triton norms 12 operators, two column linears 36 (a product for the own
// rows and for the rows before and after them), q, k, v apart 4, rotary 20, core attention 18
// (cumulative lengths are made in every layer) and 3 around it, two row linears 16, SwiGLU 4, adds
// 2. Modules, custom functions, Triton launchers and process-group queries around them: 42.
// Backward: 36 autograd nodes; 11 custom functions in Python dispatch 154 operators (the row
// linear, in pieces like the column linear, 35). After backward a Python loop adds each of the six
// gradients to the fp32 buffer: 3 operators and 3 calls each.
constexpr HostCalls kLayer{.eager_ops = 115,
                           .module_calls = 42,
                           .backward_nodes = 36,
                           .backward_calls = 9 + 18,
                           .backward_ops = 154 + 18};

}  // namespace

FrameworkRules nanotron_rules(const Scenario& s) {
  FrameworkRules r;
  r.name = "nanotron";
  r.layer_split = LayerSplit::by_cost;
  // scripts/scaling_benchmarks.py: tp_linear_async_communication.
  r.tp_backward_overlap = true;
  r.keep_gathered_input = true;
  r.p2p_sync_host = true;
  r.batched_p2p = false;
  r.fuse_wgrad_accumulation = false;
  r.half_grads = HalfGrads::kept;
  r.zero1_reduces_at_end = true;
  r.zero1_all_reduces = true;
  r.clip_scales_gradients = true;
  r.qkv_copies = true;
  r.swiglu_keeps_silu = true;
  r.embedding_dropout = false;
  r.buckets_on_first_stage_only = false;
  r.default_bucket = 13'107'200;  // 25 MiB of bf16 (config/models_config.py, ddp_bucket_cap_mb)
  r.bucket_per_dp = 0;
  r.host_layer = kLayer;
  r.host_ops_per_parameter = 10;
  r.host_ops_per_shard = 2;
  (void)s;
  return r;
}

}  // namespace windtunnel
