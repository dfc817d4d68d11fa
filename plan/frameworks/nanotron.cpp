#include "plan/frameworks/framework.h"

namespace windtunnel {

namespace {

// A launch through Triton's Python costs 62 us with the arguments of a norm or a rotary kernel in
// the version shipped with PyTorch 2.2 (triton-lang/triton pull request 3503; the runs had
// PyTorch 2.1, run_multinode.sh): five operators more than the one and the call counted for it. A
// layer has two norms and two rotary kernels in each direction.
constexpr int kTritonLaunches = 4;
constexpr int kOpsPerTritonLaunch = 5;

// Host work of one layer, counted in models/llama.py and the files it calls.
//
// Forward operators, views included: two Triton norms 12, two column linears 12, q, k, v apart 4,
// rotary 20, core attention 18 (cumulative lengths are made in every layer) and 3 around it, two
// row linears 8, SwiGLU 4, adds 2. Modules, custom functions, Triton launchers and process-group
// queries around them: 42. Backward: 36 autograd nodes; 9 custom functions in Python dispatch 84
// operators: column and row linears 10 each, norms 10, rotary 8, attention 8. After backward a
// Python loop adds each of the six gradients to the fp32 buffer: 3 operators and 3 calls each.
constexpr HostCalls kLayer{.eager_ops = 83 + kTritonLaunches * kOpsPerTritonLaunch,
                           .module_calls = 42,
                           .backward_nodes = 36,
                           .backward_calls = 9 + 18,
                           .backward_ops = 84 + 18 + kTritonLaunches * kOpsPerTritonLaunch};

// With tensor parallelism the asynchronous linears (parallel/tensor_parallel/functional.py) work in
// pieces, the own rows and the rows before and after them: a column linear dispatches 18 operators
// forward and 20 backward, a row linear 8 and 35.
constexpr HostCalls with_tensor_parallel(HostCalls layer) {
  layer.eager_ops += 2 * (18 - 6) + 2 * (8 - 4);
  layer.backward_ops += 2 * (20 - 10) + 2 * (35 - 10);
  return layer;
}

/// What docs/frameworks/nanotron.md does not explain: tensor-parallel groups over nodes, and
/// tensor-parallel stages on different nodes, take several times what their parts do.
double slowdown_sigma(const Scenario& s) {
  if (s.cluster.nodes == 1 || s.plan.tp == 1) return 0.0;
  const bool over_nodes = s.plan.tp > s.cluster.devices_per_node || s.plan.pp > 1;
  return over_nodes ? 0.75 : 0.15;
}

}  // namespace

FrameworkRules nanotron_rules(const Scenario& s) {
  FrameworkRules r;
  r.name = "nanotron";
  r.layer_split = LayerSplit::by_cost;
  // scripts/scaling_benchmarks.py: tp_linear_async_communication.
  r.tp_backward_overlap = true;
  // tp_recompute_allgather defaults to gathering again; docs/frameworks/nanotron.md says what
  // speaks against it.
  r.keep_gathered_input = false;
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
  r.host_layer = s.plan.tp > 1 ? with_tensor_parallel(kLayer) : kLayer;
  r.step_synchronizes = true;
  r.host_ops_per_parameter = 18;
  r.host_ops_per_shard = 2;  // distributed.py, all_gather_coalesced: a slice and a copy each
  r.host_ops_per_send = 18;
  r.host_ops_per_receive = 46;
  r.tensors_per_activation = 2;
  r.time_sigma = 0.08;
  r.slowdown_sigma = slowdown_sigma(s);
  return r;
}

}  // namespace windtunnel
