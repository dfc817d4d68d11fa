#pragma once
// A program is what every rank does in one training step: complete enough to be executed, timed and
// replayed through an allocator.
//
// Structure. Ranks that do the same thing share a *role* (step 1: one role per pipeline rank). A
// role has *segments*, straight lines of ops, and a list of *calls*: a call runs a segment for one
// model chunk and one micro-batch. The order of ops within calls is the host's issue order. Plain
// records in vectors, indices instead of pointers.
//
// Memory. An operand is a *slot* of the role. A slot lives in static memory (one instance), for a
// part of each step (one instance, over several calls), in a frame (one instance per micro-batch of
// its chunk) or in scratch (one instance, used inside one call). Slots that are views name a parent
// and hold no memory of their own. Every other slot is taken by an `alloc` op and given back by a
// `free` op; statics are taken in the prologue and kept.
//
// Ordering. A stream runs its ops in issue order; ops on different streams are ordered only by
// `record` and `wait`. Event registers follow CUDA's rule: a wait binds to the latest record. Ops
// on one communicator run in issue order whatever their stream.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "program/kernel.h"

namespace windtunnel {

enum class OpKind : std::uint8_t {
  compute,
  collective,
  send,
  recv,
  alloc,
  free,
  record,
  wait,
  host_work,
  host_sync
};

enum class Collective : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  ring_shift  // each member sends all of its input `distance` places on, around the ring
};
enum class ReduceOp : std::uint8_t { none, sum, average, max };

/// Streams of one device. Everything blocking runs on `compute`.
enum class Stream : std::uint8_t {
  compute,
  tp,
  ep,            // exchanges of an expert group beside shared experts
  dp,            // gradient reductions, and gathers of whole replicas' weights
  dp_gather,     // gathers of sharded weights
  dp_replicate,  // reductions over the replicas of a shard
  cp,            // keys and values on their way around the ring
  pp_send_fwd,
  pp_recv_fwd,
  pp_send_bwd,
  pp_recv_bwd,
  to_host,    // copies from device to host memory
  to_device,  // and back
  host,       // the host's own processors, beside the thread that issues
  count
};

/// `weight_grad` is the part of a backward that makes gradients of weights: it can stand apart.
enum class Phase : std::uint8_t {
  startup,
  forward,
  backward,
  weight_grad,
  grad_sync,
  optimizer,
  param_sync
};

/// What an op belongs to: rows of the time breakdown and modules of `recompute`.
enum class Module : std::uint8_t {
  none,
  embedding,
  norm,
  attention,
  core_attention,
  mlp,
  activation,
  residual,
  head,
  loss,
  optimizer,
  data,
  pipeline,
  offload
};

enum class Category : std::uint8_t {
  weights,
  grads,
  master_weights,
  optimizer_states,
  activations,
  norm_stats,
  logits,
  workspace,
  comm_buffers,
  inputs,
  scalars,
  unsharded,  // sharded weights while they are whole
  count
};

/// When an op of a segment runs, matched against the call's flags.
enum class When : std::uint8_t {
  always,
  first_micro_batch,
  not_first_micro_batch,
  last_micro_batch,
  not_last_micro_batch,
  first_step
};

using SlotId = std::uint32_t;
constexpr std::uint32_t kNone = 0xffffffffU;

enum class Space : std::uint8_t { statics, step, frame, scratch };

/// One tensor (or view) of a role. Sizes are per rank.
struct Slot {
  std::int64_t elements = 0;
  Dtype dtype = Dtype::none;
  Space space = Space::scratch;
  Category category = Category::activations;
  Stream pool = Stream::compute;  // the allocator pool (PyTorch keeps one per stream)
  bool in_graph = false;  // taken while a graph is captured: from the graphs' pool instead, in the
                          // order of that stream
  bool host = false;  // lies in the host's memory: outside the device's, and outside its kernels
  std::int16_t chunk = -1;       // model chunk of a frame slot; -1 for statics
  std::int16_t layer = -1;       // global layer; -1 outside the layers
  std::uint32_t name = 0;        // index into Program::names
  std::uint32_t parent = kNone;  // a view: slot whose memory this is part of
  std::int64_t offset = 0;     // view: first element in the parent; shard on the host: in the part
  std::int64_t dp_stride = 0;  // view: offset grows by this times the rank's place in its dp part
  int dp_ways = 0;             // ranks of a dp part; 0: all replica places
  int dp_step = 1;             // replica places from one rank of the part to the next
  std::int64_t tp_stride = 0;  // view: ... times its place in its tp group
  int tp_back = 0;             // ... or times the place this many before it, around the group
  std::uint32_t param =
      kNone;  // weights, grads and states of one parameter: index into Program::params
  std::uint32_t shard_of =
      kNone;  // a root of its own that is part `dp_ways` of this slot's elements, by dp place; on
              // the host it may be some of that part's elements, from `offset` on

  std::int64_t bytes() const { return bytes_of(dtype, elements); }
};

/// How a parameter's local elements map to the global tensor of (rows, cols).
/// Sharded dimension `dim` (0 rows, 1 columns, -1 replicated) is split over tp *per block*: with
/// blocks {n0, n1, ...} (sizes of consecutive parts of the global dimension) a rank holds part i of
/// every block.
struct Param {
  std::uint32_t name = 0;
  std::int64_t rows = 1, cols = 1;  // global, unpadded
  std::int64_t padded_rows = 1;     // vocabulary padding: rows beyond `rows` are zero and stay zero
  int shard_dim = -1;
  std::array<std::int64_t, 3> blocks{};  // sizes along shard_dim (padded), unused entries 0
  enum class Init : std::uint8_t { normal, ones, zeros } init = Init::normal;
  std::int16_t layer = -1;  // global layer, -1 for embedding and head
  // Tensors like this one that lie one after the other in the global tensor, and how many of them a
  // rank holds, by its place in the expert group.
  std::int64_t experts = 1, held = 1;
  bool tied_copy = false;    // the last stage's copy of the tied word embedding
  bool second_copy = false;  // of a model that lies on the stages twice

  std::int64_t size() const { return rows * cols * experts; }
  /// Ranks of an expert group hold different ones: gradients are reduced over their replicas alone.
  bool is_parted() const { return held < experts; }
};

/// Sizes of a kernel, as its row in the table of kernels says; those it does not have are 0.
using ShapeDims = std::array<std::int64_t, 7>;

/// A kernel or transfer with its sizes: the key of its cost. Equal shapes are stored once.
struct Shape {
  Kernel kernel = Kernel::none;
  Dtype in = Dtype::none, out = Dtype::none, acc = Dtype::none;
  std::uint16_t attr = kAttrNone;  // ShapeAttr bits
  std::uint8_t variant = 0;        // implementation: AttentionKernel for attention, else 0
  ShapeDims dims{};
  std::int64_t bytes_read = 0, bytes_written = 0;  // device-memory traffic, each operand once

  friend bool operator==(const Shape&, const Shape&) = default;
};

/// Operands of one op: a sharded layer's gradients and what they are packed into.
constexpr std::size_t kMostOperands = 32;

struct Op {
  OpKind kind = OpKind::compute;
  Stream stream = Stream::compute;
  Phase phase = Phase::forward;
  Module module = Module::none;
  When when = When::always;
  bool recompute = false;
  bool grouped = false;   // send/recv: starts together with the previous send/recv op
  bool captured = false;  // part of a graph: its launches are those of the device, none the host's
  Collective collective = Collective::all_reduce;
  ReduceOp reduce = ReduceOp::none;
  std::uint8_t launches = 0;    // kernel launches the host pays for
  std::uint8_t refs = 0;        // operands, inputs first
  std::uint8_t inputs = 0;      // of these, inputs
  std::uint8_t distance = 1;    // ring_shift: places from a member to the one it sends to
  std::int16_t layer = -1;      // global layer index
  std::int16_t peer = -1;       // send/recv: the other role
  std::uint32_t comm = kNone;   // communicator: collectives and send/recv
  std::uint32_t shape = kNone;  // compute, host_work
  std::uint32_t ref_begin = 0;  // into Program::refs; alloc and free name their one slot
  std::uint32_t event = kNone;  // record, wait, host_sync: event register
  std::int64_t elements =
      0;  // collectives: elements of the full (gathered) tensor; send/recv: elements
  Dtype dtype = Dtype::none;  // collectives, send/recv: element type on the wire
};

struct Segment {
  std::uint32_t name = 0;
  std::uint32_t op_begin = 0, op_end = 0;  // into Program::ops
};

struct Call {
  std::uint32_t segment = 0;
  std::int16_t chunk = -1;
  std::int32_t micro_batch = -1;
  bool first_micro_batch = false;  // of this chunk, in issue order of its phase
  bool last_micro_batch = false;
};

/// Event registers: static, or one instance per (chunk, micro-batch) of the call that names them.
struct Event {
  std::uint32_t name = 0;
  bool per_frame = false;
};

struct Chunk {
  int global_chunk = 0;                // position in the model's order
  int layer_begin = 0, layer_end = 0;  // global layers
  bool has_embedding = false, has_head = false;
  int copy = 0;  // of the model: runs the job's micro-batches of that copy
};

struct Role {
  int pipeline_rank = 0;
  std::vector<Chunk> chunks;
  std::vector<Slot> slots;
  std::vector<Event> events;
  std::vector<Call> prologue;      // run once before the first step: takes static memory
  std::vector<Call> calls;         // one training step
  std::int64_t graph_kernels = 0;  // that the role's captured graphs hold
};

enum Axis : std::uint8_t { kAxisTp = 1, kAxisCp = 2, kAxisEp = 4, kAxisDp = 8, kAxisPp = 16 };

/// A communicator is one group per setting of the axes it does not span; members are a function of
/// the rank. `stage_pair` restricts the pp axis to two stages that mirror each other: its ends
/// (tied embeddings), or those that hold the same parts of two model copies. `ways` and `stride`
/// restrict the replica places (mesh.h) to that many, each that far from the next:
/// shard groups are consecutive places (stride 1), their replicas stand one shard group apart.
struct Comm {
  std::string name;  // "tp", "cp", "dp", "dp_shard", "pp_fwd", "embedding", "model", "world"
  std::uint8_t axes = 0;
  int stage_pair = -1;  // k: of the pp axis the stages k and pp - 1 - k alone; -1: all
  int ways = 0;         // 0: all places
  int stride = 1;

  bool has_stage(int stage, int stages) const {
    return stage_pair < 0 || stage == stage_pair || stage == stages - 1 - stage_pair;
  }
};

/// Degrees and placement. `order` lists axes innermost first; rank = sum of coordinate * stride.
/// `cp_heads` consecutive cp ranks exchange sequence for heads before attention; 1: none do.
/// Expert groups of `ep` ranks lie across the others' axes (mesh.h, expert_group); `etp` ranks, 1
/// or tp, share each expert.
struct Mesh {
  int tp = 1, cp = 1, ep = 1, dp = 1, pp = 1, etp = 1;
  int cp_heads = 1;
  std::array<Axis, 5> order{kAxisTp, kAxisCp, kAxisEp, kAxisDp, kAxisPp};

  std::int64_t ranks() const { return std::int64_t{tp} * cp * dp * pp; }
};

/// What the executors need to know of the training job; the same for every rank.
struct Job {
  std::int64_t micro = 1, sequence = 1, micro_batches = 1, global_batch = 1;
  /// That lie on the stages, in opposite directions: copy c runs the micro-batches from
  /// c * micro_batches / model_copies on, as many.
  int model_copies = 1;
  std::int64_t vocab = 1;  // unpadded
  std::int64_t heads = 1;  // global query heads (alibi slopes, dropout)
  double attention_dropout = 0.0, hidden_dropout = 0.0;
};

struct Program {
  Mesh mesh;
  Job job;
  std::vector<std::string> names;
  std::vector<Shape> shapes;
  std::vector<Op> ops;
  std::vector<SlotId> refs;
  std::vector<Segment> segments;
  std::vector<Comm> comms;
  std::vector<Param> params;
  std::vector<Role> roles;

  std::span<const SlotId> operands(const Op& op) const {
    return {refs.data() + op.ref_begin, op.refs};
  }
  std::span<const Op> ops_of(const Call& call) const {
    const Segment& s = segments[call.segment];
    return {ops.data() + s.op_begin, ops.data() + s.op_end};
  }
};

/// Between two ranks, as against among all of a group.
constexpr bool is_message(OpKind kind) {
  return kind == OpKind::send || kind == OpKind::recv;
}

/// Whether `op` runs in this call (its `when` against the call's flags and the step number, from
/// 0).
inline bool runs(const Op& op, const Call& call, int step) {
  switch (op.when) {
    case When::always:
      return true;
    case When::first_micro_batch:
      return call.first_micro_batch;
    case When::not_first_micro_batch:
      return !call.first_micro_batch;
    case When::last_micro_batch:
      return call.last_micro_batch;
    case When::not_last_micro_batch:
      return !call.last_micro_batch;
    case When::first_step:
      return step == 0;
  }
  return true;
}

}  // namespace windtunnel
