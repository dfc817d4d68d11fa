#pragma once
// Framework rules: what a given framework at a given date does that the plan's keys do not say.
//
// A scenario's `stack.framework` (free text) and `stack.date` pick one row of `framework_table()`;
// the row's function returns the rules in force. One file per framework; each rule names its source
// there.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "scenarios/scenario.h"

namespace windtunnel {

/// What one CUDA graph holds where a plan asks for graphs (plan/graph_capture.h); none: the
/// framework captures none in training.
enum class GraphScope : std::uint8_t { none, layer, iteration };

enum class LayerSplit : std::uint8_t { equal_or_ends_count_as_layers, by_cost };

/// Which gradients exist beside the accumulation buffer (`precision.grads`).
enum class HalfGrads : std::uint8_t {
  none,       // wgrad accumulates straight into the buffer
  transient,  // each backward makes a half-precision gradient, added to the buffer and freed
  kept,       // a half-precision gradient of every parameter stays allocated beside the fp32 buffer
};

/// What the gradient of a loss that keeps log-probabilities is made of.
enum class LossGradient : std::uint8_t {
  in_place,       // they become it (Megatron-LM core/tensor_parallel/cross_entropy.py)
  through_log,    // their gradient, then that of the logits (torch.nn.functional.cross_entropy)
  loss_parallel,  // the one-hot's gradient, exponentials, their sum, and that scaled, each a tensor
                  // (torch/distributed/tensor/parallel/loss.py, loss parallel over tp)
};

/// How products run beside the transfers of their operands under `overlap.tp`
/// (plan/overlapped_linear.h); none: the stack has no such linear layers.
enum class TpOverlap : std::uint8_t {
  none,
  userbuffers,       // rows handed on around the ring, columns reduce-scattered in turn
  symmetric_memory,  // rows taken from, and partial sums put to, each rank's memory
};

/// What executes a norm, bias+activation, bias+dropout+add: launches of one forward / backward.
struct KernelCounts {
  int norm_forward = 1, norm_backward = 2;
  int activation_forward = 1, activation_backward = 1;
  int residual_forward = 1, residual_backward = 1;
  int softmax_forward = 1, softmax_backward = 1;
  int rope_forward = 1, rope_backward = 1;
};

/// An unfused norm as a chain of elementwise kernels: device traffic beyond its operands, in bytes
/// per element of a two-byte type, and launches.
struct EagerNorm {
  int forward_bytes = 0, backward_bytes = 0;
  int forward_launches = 0, backward_launches = 0;
  bool counted() const { return forward_launches > 0; }
};

/// Host-side calls of one layer for one micro-batch, beside its kernel launches: how long they take
/// is the profile's (HostItem in models/cost/cost_model.h), how many there are the framework's.
struct HostCalls {
  int eager_ops = 0;       // framework operators dispatched in forward, views included
  int module_calls = 0;    // module and custom autograd function calls of forward
  int backward_nodes = 0;  // autograd nodes of backward
  int backward_calls = 0;  // custom autograd functions written in Python, run by backward
  int backward_ops = 0;    // operators those functions dispatch, beside the node's own
};

/// Host side of transfers between stages that are split over the tensor-parallel ranks.
struct PartitionedTransfers {
  bool shape_read_on_host = false;     // the receiver reads the part's shape from the device
  bool shape_written_by_host = false;  // the sender copies it there from pageable memory
  int ops_to_cut = 0;                  // operators dispatched to take one's part of a tensor
  int ops_to_gather = 0, ops_to_gather_per_rank = 0;  // and to put the parts together
};

/// How a stack gathers sharded weights and lets them go (plan/sharded_units.h).
enum class UnshardKind : std::uint8_t {
  in_place,      // gathered into where they are used; let go behind their last use
  copied_out,    // gathered into a buffer and copied to parameters of their own (fully_shard)
  host_limited,  // in place, and the host waits before it gathers a third unit (FSDP1)
};

struct ShardedUnitRules {
  UnshardKind unshard = UnshardKind::in_place;
  bool pads_each_parameter = false;  // each parameter's first dimension, not the whole unit
  int aligned_bytes = 0;  // every parameter of a unit but the last is padded to a multiple of these
  bool ends_in_root = true;  // embedding, final norm and head are one unit that stays whole
  bool head_stays = false;   // final norm and head, a unit of their own, stay whole for backward
  bool last_layer_stays = false;  // so does the last layer: it would be gathered again at once
};

/// How a stack multiplies in 8 and 4 bits (docs/precision.md).
struct QuantizedRules {
  ScalingRecipe fp8_recipe = ScalingRecipe::tensorwise;  // what `compute: fp8` means under auto
  bool keeps_weights = true;       // whole weights are quantised once a step and kept
  bool always_transposes = false;  // a second layout of every operand, whatever the device
  bool norm_quantizes = true;      // the norm's kernel writes what it makes quantised
  bool experts_apart = true;       // each expert's operands are quantised by kernels of their own
};

/// The state machine of fp16 loss scaling (plan/loss_scaling.h).
struct LossScaling {
  std::int64_t initial_log2 = 16;
  std::int64_t growth_interval = 2000;  // finite steps until the scale doubles
  std::int64_t hysteresis = 1;          // overflows until it halves
};

/// Which activations a stack can keep in the host's memory.
enum class ActivationsOffload : std::uint8_t {
  none,
  whole_layers,  // of some layers, not all; without pipeline stages and without recomputation
  any,
};

/// What a stack can keep in the host's memory, and how (docs/offload.md).
struct OffloadRules {
  bool optimizer = false;              // master weights and states
  bool part_of_optimizer = true;       // a fraction of them; else all or nothing
  bool needs_sharded_states = false;   // it is a part of the sharded optimizer
  bool gradients_in_backward = false;  // they leave behind their reduction, where copies overlap
  bool one_pass = true;                // the host's update reads and writes each operand once
  bool overlaps = false;               // the default of plan.offload.overlap
  bool params = false;                 // sharded weights, all of them, with the optimizer
  bool optimizer_alone = true;         // without the weights
  ActivationsOffload activations = ActivationsOffload::none;
};

struct FrameworkRules {
  std::string name;   // the row of docs/presets.md
  bool known = true;  // false: unknown framework, generic rules, an assumption
  // Launch
  bool equal_segments = false;  // of a job's nodes, each in one NVLink domain (resolve_cluster.h)
  // Layout
  std::int64_t vocab_multiple =
      0;  // pad the vocabulary to a multiple of this times tp; 0: not padded
  LayerSplit layer_split = LayerSplit::equal_or_ends_count_as_layers;
  // Tensor parallel
  bool tp_backward_overlap = false;  // input-gradient collective beside the weight-gradient GEMM
  bool keep_gathered_input = false;  // sequence parallel: keep the gathered input for backward
  TpOverlap tp_overlap = TpOverlap::none;
  // Pipeline
  bool p2p_sync_host = false;         // a device synchronize after each batch of transfers
  bool forward_sync_host = false;     // a device synchronize before each forward of a micro-batch
  bool batched_p2p = true;            // blocking sends and receives of a moment are one operation
  bool scatter_gather_p2p = false;    // send 1/tp of the activation and gather at the receiver
  bool scatter_gather_grads = false;  // the same for the gradient
  PartitionedTransfers partitioned_transfers;
  bool rounds_of_micro_batches = false;  // interleaving: equal rounds of at least pp micro-batches
  // Gradients and optimizer
  bool fuse_wgrad_accumulation = true;  // GEMM writes into the accumulation buffer
  HalfGrads half_grads = HalfGrads::none;
  bool zero1_reduces_at_end = false;  // ZeRO-1 reduces after backward, whatever the preset overlaps
  bool zero1_all_reduces = false;  // ZeRO-1 that all-reduces whole gradients instead of scattering
  std::int64_t reduction_buffer =
      0;  // elements of the buffer gradients are copied into to be reduced
  bool clip_scales_gradients = false;  // whole gradients are scaled in a pass of their own, and the
                                       // new weights are copied to half precision in another
  bool fp32_grad_copy_in_step = false;  // half-precision buffer: the optimizer makes an fp32 copy
  std::int64_t default_bucket = 40'000'000;  // elements
  std::int64_t bucket_per_dp = 1'000'000;    // default bucket = max(default_bucket, this * dp)
  std::int64_t first_bucket = 0;             // elements; 0: like the others
  ShardedUnitRules units;
  bool buckets_on_first_stage_only = true;  // later stages and chunks reduce as one bucket
  // Layer
  bool separate_qkv = false;        // q, k and v are the outputs of three products, not of one
  bool split_gated_linear = false;  // gate and up are two column-parallel layers: two
                                    // input-gradient reductions in backward
  bool attention_host_sync =
      false;  // flash attention reads a sequence length on the host in every layer
  bool latent_keys_in_rings = false;   // context parallelism of keys and values that differ in
                                       // width goes around a ring, or a2a+p2p, alone
  bool ring_gradients_narrow = false;  // a ring of attention adds up gradients in the activations'
                                       // type instead of fp32
  QuantizedRules quantized;
  LossScaling loss_scaling;
  OffloadRules offload;
  EagerNorm eager_norm;  // not counted: the profile's measured unfused norm
  // Activations kept
  bool eager_norm_keeps_normalized =
      false;                       // an unfused norm keeps its result before the weight too
  bool swiglu_keeps_silu = false;  // unfused SwiGLU keeps silu(gate)
  bool qkv_copies = false;  // rotated and transposed copies of q, k, v live beside the fused qkv
  int attention_copies =
      0;  // tensors like the attention output that flash attention's callers keep
  int rope_tables =
      0;  // tables of (T, d) a rotary embedding makes for its positions and backward reads again
  bool weighs_in_experts = false;  // probabilities travel with the rows and weigh the activation,
                                   // so that the experts' output is not kept for their gradient
  bool logits_gathered = false;    // the full vocabulary is gathered on every tp rank for the loss
  bool compiles_loss = true;       // a plan that compiles its layers compiles its loss
  LossGradient loss_gradient = LossGradient::in_place;
  bool adapters_per_projection = false;      // q, k, v and gate, up have an adapter each
  bool checkpoints_need_input_grad = false;  // a recomputed layer's input must require a gradient
  bool embedding_dropout = true;  // dropout after the embedding when the model has dropout
  KernelCounts kernels;
  // How far the step time may be off although every cost is right: what the stack does beyond these
  // rules (log-normal sigma; docs/uncertainty.md says where each comes from).
  double time_sigma = 0.08;
  // The same for what such runs took on top, cause unknown: widens the interval's slow side alone.
  double slowdown_sigma = 0.0;
  // Host
  GraphScope graphs = GraphScope::none;
  HostCalls host_layer;            // one layer
  bool step_synchronizes = false;  // the host waits for the device at the end of every step
  int host_ops_per_parameter = 0;  // operators per parameter tensor in the optimizer step
  int host_ops_per_shard = 0;      // operators per parameter tensor and data-parallel rank in the
                                   // gather of ZeRO-1's weights
  int host_ops_per_send = 0, host_ops_per_receive = 0;  // operators around one tensor's transfer
                                                        // between pipeline stages
  int tensors_per_activation = 1;  // tensors such a transfer forward consists of; backward: one
};

/// The rules of the stack of `scenario`; an unknown framework gives generic rules with known =
/// false.
FrameworkRules framework_rules(const Scenario& scenario);

/// Whether the stack has what came in `month` (1 to 12) of `year`: its date is no earlier, a date
/// without a month being its January. A stack without a date is a current one.
bool stack_since(const Stack& stack, int year, int month);

struct FrameworkRow {
  const char* name;
  const char* matches;  // for docs/presets.md: the words looked for in stack.framework
  const char* doc;
  bool (*match)(const Scenario&);
  FrameworkRules (*rules)(const Scenario&);
};
std::span<const FrameworkRow> framework_table();

FrameworkRules megatron_lm_rules(const Scenario&);
FrameworkRules megatron_deepspeed_rules(const Scenario&);
FrameworkRules nanotron_rules(const Scenario&);
FrameworkRules aleph_alpha_rules(const Scenario&);
FrameworkRules pytorch_rules(const Scenario&);
FrameworkRules deepspeed_rules(const Scenario&);
FrameworkRules generic_rules(const Scenario&);

}  // namespace windtunnel
