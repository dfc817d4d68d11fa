#include "plan/lower.h"

#include <map>
#include <optional>

#include "core/check.h"
#include "plan/call_order.h"
#include "plan/graph_capture.h"
#include "plan/resolve.h"
#include "plan/step_ends.h"
#include "program/mesh.h"
#include "program/verify.h"

namespace windtunnel {

namespace {

Axis axis_named(const std::string& name) {
  static const std::map<std::string, Axis> kAxes{
      {"tp", kAxisTp}, {"cp", kAxisCp}, {"ep", kAxisEp}, {"dp", kAxisDp}, {"pp", kAxisPp}};
  const auto it = kAxes.find(name);
  CHECK(it != kAxes.end(), "the loader checks axis names");
  return it->second;
}

Mesh make_mesh(const ResolvedPlan& p) {
  Mesh mesh{.tp = p.tp,
            .cp = p.cp,
            .ep = p.ep,
            .dp = p.dp,
            .pp = p.pp,
            .etp = p.etp,
            .cp_heads = p.cp_heads};
  std::size_t n = 0;
  for (const std::string& axis : p.order) mesh.order[n++] = axis_named(axis);
  for (const Axis axis :
       {kAxisTp, kAxisCp, kAxisEp, kAxisDp, kAxisPp}) {  // axes the order leaves out are outermost
    bool present = false;
    for (std::size_t i = 0; i < n; ++i) present |= mesh.order[i] == axis;
    if (!present && n < mesh.order.size()) mesh.order[n++] = axis;
  }
  return mesh;
}

void add_expert_comms(ProgramWriter& w, const ResolvedPlan& p) {
  const Mesh& mesh = w.program.mesh;
  w.add_comm(expert_group(mesh));
  if (p.expert_replicas() > 1) w.add_comm(expert_replicas(mesh));
  if (!p.shards_states())
    w.add_comm({.name = "model_ep",
                .axes = static_cast<std::uint8_t>(kAxisTp | replica_axes(mesh) | kAxisPp),
                .ways = p.expert_ways});
}

void add_comms(ProgramWriter& w, const ResolvedScenario& s) {
  const ResolvedPlan& p = s.plan;
  if (p.tp > 1) w.add_comm({.name = "tp", .axes = kAxisTp});
  if (p.cp > 1) w.add_comm({.name = "cp", .axes = kAxisCp});
  if (p.cp_heads > 1 && p.cp_heads < p.cp) {
    w.add_comm({.name = "cp_heads", .axes = kAxisCp, .ways = p.cp_heads});
    w.add_comm(
        {.name = "cp_ring", .axes = kAxisCp, .ways = p.cp / p.cp_heads, .stride = p.cp_heads});
  }
  const std::uint8_t replicas = replica_axes(w.program.mesh);
  if (p.replica_ranks() > 1) w.add_comm({.name = "dp", .axes = replicas});
  if (p.pp > 1) w.add_comm({.name = "pp_fwd", .axes = kAxisPp});
  if (p.pp > 1) w.add_comm({.name = "pp_bwd", .axes = kAxisPp});
  if (p.pp > 1 && s.scenario.model.ends_share_word_embedding() && !p.lora)
    w.add_comm({.name = "embedding", .axes = kAxisPp, .stage_pair = 0});
  if (p.model_copies() > 1) {
    for (int rank = 0; rank < p.pp / 2; ++rank)
      w.add_comm({.name = copies_comm(p.pp, rank), .axes = kAxisPp, .stage_pair = rank});
  }
  if (p.tp * p.pp > 1) w.add_comm({.name = "model", .axes = kAxisTp | kAxisPp});
  if (p.ep > 1) add_expert_comms(w, p);
  if (p.scaling == ScalingRecipe::delayed && p.tp * p.replica_ranks() > 1)
    w.add_comm({.name = "amax", .axes = kAxisTp | kAxisCp | kAxisDp});
  if (!p.shards_states()) return;
  // Replicas of a shard hold the same numbers: norms are summed over one of each.
  const int ways = p.replicas() > 1 ? p.shard_degree : 0;
  if (ways > 0) {
    w.add_comm({.name = "dp_shard", .axes = replicas, .ways = ways});
    w.add_comm(
        {.name = "dp_replicate", .axes = replicas, .ways = p.replicas(), .stride = p.shard_degree});
    if (p.ep > 1 && p.expert_shards() > 1)
      w.add_comm({.name = "edp_shard",
                  .axes = replicas,
                  .ways = p.expert_shards(),
                  .stride = p.expert_ways});
  }
  if (p.separate_reduce_group) w.add_comm({.name = "dp_reduce", .axes = replicas, .ways = ways});
  if (p.shards_weights() && p.reshard_after_forward > 1) {
    w.add_comm({.name = "dp_part", .axes = replicas, .ways = p.reshard_after_forward});
  }
  const auto all = static_cast<std::uint8_t>(kAxisTp | kAxisPp | replicas);
  w.add_comm({.name = "world", .axes = all, .ways = ways});
}

Job make_job(const ResolvedScenario& s) {
  const Scenario& sc = s.scenario;
  // Dropout probabilities of the published GPT runs (Megatron-LM defaults, arguments.py).
  const double dropout = sc.model.dropout ? 0.1 : 0.0;
  return {.micro = sc.batch.micro,
          .sequence = sc.batch.sequence,
          .micro_batches = s.plan.micro_batches,
          .global_batch = sc.batch.global,
          .model_copies = s.plan.model_copies(),
          .vocab = sc.model.vocab,
          .heads = sc.model.heads,
          .attention_dropout = dropout,
          .hidden_dropout = dropout};
}

/// With one stage interleaving's chunks are one; see resolve.
ScheduleShape schedule_shape(const ResolvedPlan& p) {
  return {.pp = p.pp,
          .virtual_stages = p.virtual_stages,
          .micro_batches = static_cast<int>(p.micro_batches),
          .micro_batch_group = p.micro_batch_group};
}

std::vector<Chunk> chunks_of(const ResolvedScenario& s, int rank) {
  const ResolvedPlan& p = s.plan;
  const ScheduleShape shape = schedule_shape(p);
  const int total = global_chunks(p.placement, shape);
  std::vector<int> begin(static_cast<std::size_t>(total) + 1, 0);
  for (int g = 0; g < total; ++g)
    begin[static_cast<std::size_t>(g) + 1] =
        begin[static_cast<std::size_t>(g)] + p.layers_per_chunk[static_cast<std::size_t>(g)];
  std::vector<Chunk> chunks;
  for (int c = 0; c < chunks_per_rank(p.placement, shape); ++c) {
    const int g = global_chunk(p.placement, shape, {.rank = rank, .chunk = c});
    chunks.push_back({.global_chunk = g,
                      .layer_begin = begin[static_cast<std::size_t>(g)],
                      .layer_end = begin[static_cast<std::size_t>(g) + 1],
                      .has_embedding = g == 0,
                      .has_head = g == total - 1,
                      .copy = p.model_copies() > 1 ? c : 0});
  }
  return chunks;
}

ChunkList draft_chunks(RoleDraft& d, int rank) {
  const ResolvedPlan& p = d.plan();
  const ScheduleShape shape = schedule_shape(p);
  const int total = global_chunks(p.placement, shape);
  const auto holder = [&](int g, int micro_batch) {
    return g >= 0 && g < total ? local_chunk(p.placement, shape, g, micro_batch)
                               : LocalChunk{-1, -1};
  };
  ChunkList list;
  int layers = 0;
  for (std::size_t c = 0; c < d.role.chunks.size(); ++c) {
    const Chunk& chunk = d.role.chunks[c];
    const int first = chunk.copy * shape.micro_batches / p.model_copies();
    const LocalChunk before = holder(chunk.global_chunk - 1, first);
    const LocalChunk after = holder(chunk.global_chunk + 1, first);
    list.push_back(std::make_unique<ChunkDraft>(
        d, ChunkPlace{.chunk = chunk,
                      .local = static_cast<std::int16_t>(c),
                      .previous_role = before.rank,
                      .next_role = after.rank,
                      .previous_local = before.rank == rank ? before.chunk : -1,
                      .next_local = after.rank == rank ? after.chunk : -1,
                      .first_layer_in_stage = layers}));
    layers += chunk.layer_end - chunk.layer_begin;
  }
  return list;
}

/// The host waits for the device: after a batch of transfers or before a forward, in stacks that
/// do.
std::uint32_t sync_segment(RoleDraft& d, std::string_view name) {
  SegmentDraft s{.name = std::string(name), .ops = {}};
  d.segment = &s;
  d.phase = Phase::forward;
  d.wait_on_host(s.name + "_done");
  return d.writer.store_segment(s);
}

/// Chunks that go around the ring of stages: when every rank sends before it receives, transfers
/// one by one never end. A stack without interleaving of its own gets the batched transfers of
/// Megatron-LM, whose schedule it is.
bool batches_transfers(const ResolvedScenario& s) {
  return s.rules.batched_p2p || s.plan.schedule == ScheduleKind::interleaved_1f1b;
}

PipelineOrder pipeline_order(const ResolvedScenario& s) {
  const ResolvedPlan& p = s.plan;
  return {.shape = schedule_shape(p),
          .kind = p.schedule,
          .asynchronous = p.overlap_pp,
          .batched = batches_transfers(s)};
}

bool is_gradient_call(ChunkCall call) {
  return call == ChunkCall::backward || call == ChunkCall::input_grad ||
         call == ChunkCall::weight_grad;
}

/// Marks the first and the last of a chunk's forwards, and of its calls that make gradients.
class PassMarks {
 public:
  explicit PassMarks(std::size_t chunks) : forward_(chunks), gradients_(chunks) {}

  void note(std::vector<Call>& calls, const IssuedCall& issued) {
    const bool forward = issued.call == ChunkCall::forward;
    if (!forward && !is_gradient_call(issued.call)) return;
    std::optional<std::size_t>& last =
        (forward ? forward_ : gradients_)[static_cast<std::size_t>(issued.chunk)];
    if (last) {
      calls[*last].last_micro_batch = false;
    } else {
      calls.back().first_micro_batch = true;
    }
    last = calls.size() - 1;
    calls.back().last_micro_batch = true;
  }

 private:
  std::vector<std::optional<std::size_t>> forward_, gradients_;  // by chunk: its last call
};

/// By chunk: the index of its last call that makes gradients.
std::map<std::int16_t, std::size_t> last_gradient_calls(const std::vector<IssuedCall>& calls) {
  std::map<std::int16_t, std::size_t> last;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (is_gradient_call(calls[i].call)) last[calls[i].chunk] = i;
  }
  return last;
}

/// Chunks whose gradients are whole and not yet reduced: a chunk's reductions follow the transfer
/// of its last gradient to the rank before, and do not part what starts together.
class WholeGradients {
 public:
  WholeGradients(RoleDraft& d, ChunkList& chunks) : d_(d), chunks_(chunks) {}

  /// `last`: the chunk's gradients are complete with this call.
  void after(const IssuedCall& issued, bool last) {
    if (last) waiting_.push_back(issued.chunk);
    const bool sent =
        d_.plan().overlap_pp ? issued.call == ChunkCall::send_grad : issued.ends_batch;
    const bool sends_later = sends(issued.chunk) && issued.call != ChunkCall::weight_grad;
    if (sent || (last && !sends_later)) reduce();
  }

 private:
  void reduce() {
    for (const std::int16_t chunk : waiting_) {
      const std::uint32_t segment =
          chunks_[static_cast<std::size_t>(chunk)]->segment(ChunkCall::reduce_grads, false);
      if (segment == kNone) continue;
      d_.role.calls.push_back({.segment = segment,
                               .chunk = chunk,
                               .micro_batch = last_micro_batch(chunk),
                               .last_micro_batch = true});
    }
    waiting_.clear();
  }
  std::int32_t last_micro_batch(std::int16_t chunk) const {
    const ResolvedPlan& p = d_.plan();
    const int copy = d_.role.chunks[static_cast<std::size_t>(chunk)].copy;
    return static_cast<std::int32_t>((copy + 1) * p.micro_batches / p.model_copies()) - 1;
  }
  bool sends(std::int16_t chunk) const {
    return chunks_[static_cast<std::size_t>(chunk)]->place().previous_role >= 0;
  }

  RoleDraft& d_;
  ChunkList& chunks_;
  std::vector<std::int16_t> waiting_;
};

void append_pipeline_calls(RoleDraft& d, ChunkList& chunks,
                           const std::vector<IssuedCall>& issued_calls) {
  const ResolvedPlan& p = d.plan();
  const bool sync = d.rules().p2p_sync_host && !p.overlap_pp && p.pp > 1;
  const std::uint32_t sync_call = sync ? sync_segment(d, "p2p_sync") : kNone;
  const bool forward_sync = d.rules().forward_sync_host;
  const std::uint32_t forward_sync_call = forward_sync ? sync_segment(d, "forward_sync") : kNone;
  PassMarks marks(chunks.size());
  WholeGradients whole(d, chunks);
  const std::map<std::int16_t, std::size_t> last = last_gradient_calls(issued_calls);
  for (std::size_t i = 0; i < issued_calls.size(); ++i) {
    const IssuedCall& issued = issued_calls[i];
    const std::size_t c = static_cast<std::size_t>(issued.chunk);
    const std::uint32_t segment = chunks[c]->segment(issued.call, issued.grouped);
    if (segment == kNone) continue;
    if (forward_sync && issued.call == ChunkCall::forward)
      d.role.calls.push_back({.segment = forward_sync_call});
    d.role.calls.push_back(
        {.segment = segment, .chunk = issued.chunk, .micro_batch = issued.micro_batch});
    marks.note(d.role.calls, issued);
    if (issued.ends_batch && sync) d.role.calls.push_back({.segment = sync_call});
    whole.after(issued, last.at(issued.chunk) == i);
  }
}

Role lower_role(ProgramWriter& w, const ResolvedScenario& s, int rank,
                const std::vector<IssuedCall>& issued_calls) {
  RoleDraft d(w, s, rank);
  d.role.chunks = chunks_of(s, rank);
  const StepScalars scalars = make_scalars(d);
  ChunkList chunks = draft_chunks(d, rank);
  for (const auto& chunk : chunks)
    chunk->draft_passes(chunk->place().chunk.has_head ? scalars.loss : kNone);
  for (const auto& chunk : chunks) chunk->draft_transfers(chunks);
  for (const auto& chunk : chunks) chunk->place_memory();
  d.chunk = -1;
  d.role.prologue.push_back({.segment = w.store_segment(draft_startup(d))});
  d.role.calls.push_back({.segment = w.store_segment(draft_step_begin(d, chunks, scalars))});
  append_pipeline_calls(d, chunks, issued_calls);
  d.role.calls.push_back({.segment = w.store_segment(draft_grad_sync(d, chunks))});
  d.role.calls.push_back({.segment = w.store_segment(draft_optimizer(d, chunks, scalars))});
  return std::move(d.role);
}

}  // namespace

Program draft(const ResolvedScenario& s) {
  ProgramWriter w;
  w.program.mesh = make_mesh(s.plan);
  w.program.job = make_job(s);
  add_comms(w, s);
  const std::vector<std::vector<IssuedCall>> calls = issue_orders(pipeline_order(s));
  for (int rank = 0; rank < s.plan.pp; ++rank) {
    w.program.roles.push_back(lower_role(w, s, rank, calls[static_cast<std::size_t>(rank)]));
  }
  capture_graphs(w, s.plan.graphs);
  return std::move(w.program);
}

Program lower(const ResolvedScenario& s) {
  Program program = draft(s);
  verify(program);
  return program;
}

ResolvedScenario one_device(const ResolvedScenario& s) {
  ResolvedScenario one = s;
  one.scenario.cluster.nodes = 1;
  one.scenario.cluster.devices_per_node = 1;
  ResolvedPlan& p = one.plan;
  p.tp = p.pp = p.dp = p.cp = p.cp_heads = p.ep = p.etp = p.expert_ways = 1;
  p.sequence_parallel = false;
  p.schedule = ScheduleKind::one_f_one_b;
  p.virtual_stages = 1;
  p.placement = ChunkPlacement::loop;
  p.splits_backward = false;
  p.micro_batch_group = 1;
  p.layers_per_chunk = {static_cast<int>(s.scenario.model.layers)};
  p.micro_batches = s.scenario.batch.global / s.scenario.batch.micro;
  p.sharding = ShardingKind::none;
  p.shard_degree = 1;
  p.overlap_grad_reduce = p.overlap_param_gather = p.overlap_pp = p.overlap_tp = p.overlap_cp =
      p.overlap_ep = false;
  p.recompute = RecomputeKind::none;
  p.graphs = GraphScope::none;
  p.vocab_padded = s.scenario.model.vocab;
  p.compute = p.multiplied();  // where both are held exactly, narrow products equal wide ones
  p.scaling = ScalingRecipe::none;
  p.loss_scaling = p.compile = false;
  p.cross_entropy = CrossEntropyKind::plain;
  p.offload_optimizer = p.offload_params = p.offload_activations = 0.0;
  one.rules = generic_rules(s.scenario);
  one.rules.embedding_dropout = s.rules.embedding_dropout;
  return one;
}

}  // namespace windtunnel
