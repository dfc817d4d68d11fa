#pragma once
// A scenario is what a user wrote: model, cluster, plan, batch, and what was measured.
//
// Fields a user may leave out to take the preset's default are `std::optional`; `plan/resolve.h`
// fills them in and remembers where each value came from. Quantities are in their SI base. The
// format is the contract of `docs/scenario_format.md`.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.h"
#include "core/dtype.h"
#include "core/units.h"
#include "models/architectures/model.h"

namespace windtunnel {

struct Stack {
  std::string framework;  // free text, lower case; empty: not stated
  std::string version;
  std::string date;  // as written: "2022-05", "2025-10..2026-04"
};

enum class NetworkKind : std::uint8_t { ib, roce, efa, tcp };

struct NetworkSpec {
  std::string name;  // empty for an inline mapping
  int nics_per_node = 0;
  BytesPerSecond nic_bandwidth;  // one NIC, one direction
  std::optional<Seconds> latency;
  double oversubscription = 1.0;
  int nodes_per_leaf = 0;  // 0: not stated, and whatever leaves a node crosses its leaf's uplink
  NetworkKind kind = NetworkKind::ib;
};

struct Degraded {
  std::optional<int> node;
  std::optional<int> rank;
  std::optional<BytesPerSecond> nic_bandwidth;
  std::optional<double> slowdown;
};

/// Device `unit`: ops cost what the scenario says. Used by oracles and schedule studies.
struct UnitCosts {
  std::map<std::string, Seconds> layer;       // "F", "B", "I", "W": one layer's compute
  std::map<std::string, Seconds> attention;   // "F", "B": each block of a ring's attention
  std::map<int, double> stage_scale;          // pipeline stage -> factor on its compute
  Seconds hop;                                // one point-to-point transfer
  std::map<std::string, Seconds> collective;  // "all_reduce", "all_gather", ...
  Seconds launch;                             // host time per kernel launch
  Seconds graph_launch;                       // host time per replay of a captured graph
  std::map<std::string, Seconds> offload;  // "to_host", "to_device": a copy; "host": a host's step
  Seconds graph_gap;                       // device time in front of each captured kernel
  Seconds otherwise;                       // `else`: every other op
};

/// The memory of a node's processors; what is not stated is assumed where a plan needs it.
struct HostSpec {
  std::optional<Bytes> memory;
  std::optional<BytesPerSecond> memory_bandwidth;
};

struct Cluster {
  std::string name;    // empty for an inline mapping
  std::string device;  // one of FORMAT's device names
  int devices_per_node = 1;
  int nodes = 1;
  int nvlink_domain = 1;  // devices; default devices_per_node
  std::optional<NetworkSpec> network;
  HostSpec host;
  std::vector<Degraded> degraded;
  std::optional<double> price_device_hour;
  std::optional<UnitCosts> unit;

  std::int64_t devices() const { return std::int64_t{devices_per_node} * nodes; }
};

struct Batch {
  std::int64_t global = 1;    // sequences per step
  std::int64_t micro = 1;     // sequences per micro-batch per replica
  std::int64_t sequence = 1;  // tokens per sequence
};

enum class Preset : std::uint8_t {
  none,
  megatron,
  megatron_deepspeed,
  fsdp2,
  fsdp1,
  deepspeed,
  ddp,
  nanotron
};
enum class CpKind : std::uint8_t { ring, all_gather, ulysses, ulysses_ring };
enum class ScheduleKind : std::uint8_t {
  gpipe,
  one_f_one_b,
  interleaved_1f1b,
  bfs,
  zb_h1,
  zb_h2,
  zb_v,
  dualpipe,
  dualpipe_v
};
enum class ShardingKind : std::uint8_t { none, zero1, zero2, zero3, fsdp, hsdp };
/// Whether weights are sharded too, not the optimizer's states and gradients alone.
constexpr bool cuts_weights(ShardingKind kind) {
  return kind == ShardingKind::zero3 || kind == ShardingKind::fsdp || kind == ShardingKind::hsdp;
}
enum class RecomputeKind : std::uint8_t { none, selective, full };
/// How the operands of 8-bit and 4-bit products are scaled before they are rounded.
enum class ScalingRecipe : std::uint8_t { none, delayed, tensorwise, blockwise, mxfp8, nvfp4 };
enum class OptimizerKind : std::uint8_t { adamw, sgd, adam8bit, muon };
enum class AttentionKind : std::uint8_t { flash, unfused };
enum class AttentionKernel : std::uint8_t { flash1, flash2, flash3, cudnn, fused, torch };
enum class NormKernel : std::uint8_t { fused, eager };
enum class CrossEntropyKind : std::uint8_t { plain, fused, chunked };
enum class RecomputeModule : std::uint8_t {
  core_attention,
  attention,
  mlp,
  norm,
  activation,
  moe,
  moe_activation,
  shared_experts,
  mla_up_proj
};

/// Which layers of a stage are recomputed: all, the first n, or every n-th.
struct RecomputeLayers {
  enum class Kind : std::uint8_t { all, first, every } kind = Kind::all;
  std::int64_t n = 0;
};

struct SchedulePart {
  std::optional<ScheduleKind> kind;
  std::optional<int> virtual_stages;
  std::optional<std::vector<int>> layers_per_stage;  // nullopt: auto
  std::optional<int> micro_batch_group;              // nullopt: auto
};

struct ShardingPart {
  std::optional<ShardingKind> kind;
  std::optional<int> shard_degree;                    // nullopt: auto
  std::optional<std::int64_t> reshard_after_forward;  // 0 false, 1 true, k > 1: keep k shards
  std::optional<bool> overlap_grad_reduce;
  std::optional<bool> overlap_param_gather;
  std::optional<std::int64_t> bucket;    // elements; nullopt: auto
  std::optional<std::int64_t> prefetch;  // nullopt: auto
  std::optional<bool> separate_reduce_group;
};

struct RecomputePart {
  std::optional<RecomputeKind> kind;
  std::optional<std::vector<RecomputeModule>> modules;
  std::optional<RecomputeLayers> layers;
};

struct PrecisionPart {
  std::optional<Dtype> compute, params, grads, master,
      optimizer_states;                     // master: Dtype::none allowed
  std::optional<ScalingRecipe> fp8_recipe;  // nullopt: auto
  std::optional<bool> loss_scaling;         // nullopt: with fp16 compute
};

struct OverlapPart {
  std::optional<bool> tp, pp, cp, ep;
};

struct OffloadPart {
  double optimizer = 0.0, params = 0.0, activations = 0.0;
  std::optional<bool> overlap;
};

enum class LoraModule : std::uint8_t { attention, mlp };

struct Lora {
  std::int64_t rank = 0;
  std::optional<std::int64_t> alpha;               // nullopt: the rank
  std::optional<std::vector<LoraModule>> modules;  // nullopt: all
};

struct Plan {
  Preset preset = Preset::none;
  int tp = 1, pp = 1, cp = 1, ep = 1;
  std::optional<int> etp;
  std::optional<int> dp;                          // nullopt: auto
  std::optional<std::vector<std::string>> order;  // innermost first; nullopt: preset's
  std::optional<bool> sequence_parallel;
  std::optional<CpKind> cp_kind;
  SchedulePart schedule;
  ShardingPart sharding;
  RecomputePart recompute;
  PrecisionPart precision;
  std::optional<OptimizerKind> optimizer;
  std::optional<Lora> lora;
  std::optional<AttentionKind> attention;
  std::optional<AttentionKernel> attention_kernel;
  std::optional<NormKernel> norm_kernel;
  OverlapPart overlap;
  OffloadPart offload;
  std::optional<CrossEntropyKind> cross_entropy;
  std::optional<bool> logits_fp32;
  std::optional<bool> cuda_graphs;
  std::optional<bool> compile;
};

struct AllocatorSpec {
  bool expandable_segments = false;
};

struct DataSpec {
  Seconds load_time;  // of one batch by one worker
  int workers = 1;    // 0: the training process loads by itself, nothing ahead
};

struct Measured {
  std::optional<Seconds> step_time;
  std::optional<std::pair<Seconds, Seconds>> step_time_range;
  std::optional<Bytes> peak_allocated, peak_reserved, peak_device;
  std::optional<int> peak_rank;  // nullopt: the fullest rank
  std::optional<bool> oom;       // a measured step time means false
  std::string source;
};

/// What the model is used for; training unless said otherwise.
struct Workload {
  bool inference = false;
  std::int64_t prompt = 0, output = 0;  // tokens
  std::int64_t concurrency = 0;         // requests in flight
};

/// The axes of `sweep`: a key of the format and the values it takes, as written.
struct SweepAxis {
  std::string key;  // "plan.tp"
  std::vector<std::string> values;
};

class SourceText;

struct Scenario {
  std::string id, name, group;
  std::vector<std::string> assumed;
  Stack stack;
  Model model;
  Cluster cluster;
  std::string profile = "auto";
  Batch batch;
  Plan plan;
  AllocatorSpec allocator;
  DataSpec data;
  std::optional<Measured> measured;
  Workload workload;
  std::vector<SweepAxis> sweep;
  /// The scalars of `run` by dotted key, as written: "run.duration" -> "54 d", list items by
  /// number.
  std::map<std::string, std::string> run;
  /// Keys that parsed and validated but belong to a part that is not built yet, each with its
  /// place: lowering refuses the scenario by the first of these, `check` lists them all.
  std::vector<Diagnostic> not_built;
  /// Where each key stands: "plan.tp" -> position. Used for errors found after parsing.
  std::map<std::string, SourcePosition> positions;
  /// The texts those places are in; `scenario_place.h` makes diagnostics of them.
  std::vector<std::shared_ptr<const SourceText>> sources;
};

/// One file's scenarios; a file with a single scenario is a set of one.
struct ScenarioSet {
  std::string name, source, file;
  std::vector<Scenario> scenarios;
};

}  // namespace windtunnel
