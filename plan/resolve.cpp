#include "plan/resolve.h"

#include <algorithm>
#include <sstream>

#include "plan/call_order.h"
#include "plan/layer_split.h"
#include "plan/preset_defaults.h"
#include "plan/resolve_cluster.h"
#include "plan/resolve_context.h"
#include "plan/resolve_experts.h"
#include "plan/resolve_latent.h"
#include "plan/resolve_lora.h"
#include "plan/resolve_offload.h"
#include "plan/resolve_overlap.h"
#include "plan/resolve_quantization.h"
#include "plan/resolve_sharding.h"
#include "plan/resolver.h"

namespace windtunnel {

bool ResolvedPlan::recomputes(RecomputeModule module) const {
  return recompute == RecomputeKind::selective &&
         std::find(recompute_modules.begin(), recompute_modules.end(), module) !=
             recompute_modules.end();
}

namespace {

/// Passes of a micro-batch through a chunk, forward and backward together, in one step. Each takes
/// a few calls: as many as this are some GB, and thousands of times what runs use.
constexpr std::int64_t kMostPasses = 20'000'000;

void resolve_degrees(const Scenario& s, Resolver& r, ResolvedPlan& p) {
  p.tp = s.plan.tp;
  p.pp = s.plan.pp;
  p.cp = s.plan.cp;
  const std::int64_t model_parallel = std::int64_t{p.tp} * p.pp * s.plan.cp;
  const std::int64_t devices = s.cluster.devices();
  const bool divides = devices % model_parallel == 0 && devices >= model_parallel;
  if (!divides) {
    r.error("plan.dp",
            "tp * pp * cp = " + std::to_string(model_parallel) + " does not divide the " +
                std::to_string(devices) + " devices of the cluster",
            "change a degree or the number of nodes so that tp * pp * cp * dp = devices");
  }
  p.dp = r.take("plan.dp", s.plan.dp, divides ? static_cast<int>(devices / model_parallel) : 1,
                "computed");
  if (divides && std::int64_t{p.dp} * model_parallel != devices) {
    r.error("plan.dp",
            "tp * pp * cp * dp = " + std::to_string(std::int64_t{p.dp} * model_parallel) +
                ", but the cluster has " + std::to_string(devices) + " devices",
            "dp: " + std::to_string(devices / model_parallel) + " or dp: auto");
  }
  const std::int64_t per_pass = s.batch.micro * p.dp;
  if (s.batch.global % per_pass != 0) {
    r.error("batch.global",
            "global batch " + std::to_string(s.batch.global) +
                " is not a multiple of micro * dp = " + std::to_string(per_pass),
            "choose a global batch that micro * dp divides");
  }
  p.micro_batches = std::max<std::int64_t>(1, s.batch.global / per_pass);
  r.note("plan.micro_batches", static_cast<int>(p.micro_batches), "computed");
}

void resolve_order(const Scenario& s, Resolver& r, ResolvedPlan& p, const std::string& preset) {
  const PresetDefaults& d = defaults_of(s.plan.preset);
  std::vector<std::string> fallback;
  std::stringstream text(d.order);
  for (std::string axis; std::getline(text, axis, '-');) fallback.push_back(axis);
  p.order = r.take("plan.order", s.plan.order, fallback, preset);
}

/// Consecutive micro-batches a chunk runs before the next chunk. PyTorch's rounds of pp or more
/// micro-batches for its interleaved zero-bubble schedule (schedules.py, ScheduleInterleaved1F1B).
int default_group(const FrameworkRules& rules, const ResolvedPlan& p) {
  const std::int64_t rounds = std::max<std::int64_t>(1, p.micro_batches / p.pp);
  const bool in_rounds = p.schedule == ScheduleKind::zb_h1 || rules.rounds_of_micro_batches;
  return in_rounds && p.micro_batches % rounds == 0 ? static_cast<int>(p.micro_batches / rounds)
                                                    : p.pp;
}

void resolve_schedule_kind(const SchedulePart& part, Resolver& r, ResolvedPlan& p,
                           const std::string& preset) {
  const int given = part.virtual_stages.value_or(1);
  const ScheduleKind fallback =
      given > 1 ? ScheduleKind::interleaved_1f1b : ScheduleKind::one_f_one_b;
  const ScheduleKind kind = part.kind.value_or(fallback);
  const int fixed = schedule_row(kind).fixed_virtual_stages;
  p.virtual_stages =
      r.take("plan.schedule.virtual_stages", part.virtual_stages, fixed > 0 ? fixed : 1,
             fixed > 1 ? std::string("schedule ") + schedule_row(kind).name : preset);
  p.schedule = r.take("plan.schedule.kind", part.kind, fallback, preset);
  // One stage has nothing to order: its chunks follow each other, and are one.
  if (p.pp == 1) {
    p.virtual_stages = 1;
    if (p.schedule != ScheduleKind::gpipe) p.schedule = ScheduleKind::one_f_one_b;
  }
  if (p.schedule == ScheduleKind::interleaved_1f1b && p.virtual_stages == 1)
    p.schedule = ScheduleKind::one_f_one_b;
  const ScheduleRow& row = schedule_row(p.schedule);
  p.placement = row.placement;
}

void check_schedule_shape(const SchedulePart& part, Resolver& r, ResolvedPlan& p) {
  const ScheduleRow& row = schedule_row(p.schedule);
  const ScheduleShape shape{.pp = p.pp,
                            .virtual_stages = p.virtual_stages,
                            .micro_batches = static_cast<int>(p.micro_batches),
                            .micro_batch_group = p.micro_batch_group};
  if (const auto why = refusal(row, shape)) {
    const bool interleaved = p.schedule == ScheduleKind::interleaved_1f1b;
    r.error(interleaved ? "plan.schedule.micro_batch_group" : "plan.schedule.kind", *why,
            part.micro_batch_group
                ? "micro_batch_group: auto; a multiple of pp micro-batches always runs"
                : "raise batch.global or lower micro so that each replica runs a multiple of pp "
                  "micro-batches");
    return;
  }
  const std::vector<ScheduleAction> actions = row.actions(shape, 0);
  p.splits_backward = std::any_of(actions.begin(), actions.end(), [](const ScheduleAction& a) {
    return a.kind == ScheduleAction::Kind::input_grad;
  });
}

void resolve_schedule(const Scenario& s, const FrameworkRules& rules, Resolver& r, ResolvedPlan& p,
                      const std::string& preset) {
  const SchedulePart& part = s.plan.schedule;
  resolve_schedule_kind(part, r, p, preset);
  if (s.model.ends_share_word_embedding() && p.placement != ChunkPlacement::loop) {
    r.error("plan.schedule.kind",
            "the first and the last chunk lie on one stage: a weight that both use is not built",
            "tied_embeddings: false and mtp_layers: 0, or a schedule whose last chunk is on the "
            "last stage");
  }
  p.micro_batch_group = r.take("plan.schedule.micro_batch_group", part.micro_batch_group,
                               default_group(rules, p), "computed (pp)");
  const int chunks = p.pp * p.virtual_stages;
  const bool countable = static_cast<std::int64_t>(chunks) * p.micro_batches <= kMostPasses;
  if (!countable) {
    r.error("batch.global",
            std::to_string(p.micro_batches) + " micro-batches through " + std::to_string(chunks) +
                " chunks are more passes than the " + std::to_string(kMostPasses) +
                " a program may have",
            "a larger micro, a smaller global batch or fewer virtual_stages");
  } else {
    check_schedule_shape(part, r, p);
  }
  if (part.layers_per_stage) {
    p.layers_per_chunk = r.take("plan.schedule.layers_per_stage", part.layers_per_stage, {}, "");
    // On one device the virtual stages follow each other: they are one chunk.
    if (p.pp == 1) p.layers_per_chunk = {static_cast<int>(s.model.layers)};
  } else {
    const LayerSplitResult split = split_layers(s.model, chunks, rules.layer_split);
    p.layers_per_chunk = split.layers;
    r.note("plan.schedule.layers_per_stage", split.layers, "rule: " + split.rule);
  }
  if (static_cast<int>(p.layers_per_chunk.size()) != chunks) {
    r.error("plan.schedule.layers_per_stage",
            "layers_per_stage has " + std::to_string(p.layers_per_chunk.size()) +
                " entries, the plan has pp * virtual_stages = " + std::to_string(chunks),
            "one entry per chunk, in model order");
  }
}

void resolve_precision(const Scenario& s, const FrameworkRules& rules, Resolver& r, ResolvedPlan& p,
                       const std::string& preset) {
  const PrecisionPart& part = s.plan.precision;
  p.compute = r.take("plan.precision.compute", part.compute, Dtype::bf16, preset);
  resolve_quantization(s, rules, r, p);
  const Dtype full = p.multiplied();
  const bool half = bits_of(full) == 16;
  // PyTorch's FSDP shards the fp32 parameters and casts what it gathers.
  const bool fsdp = s.plan.preset == Preset::fsdp1 || s.plan.preset == Preset::fsdp2;
  const bool casts = half && fsdp && p.shards_weights();
  p.params = r.take("plan.precision.params", part.params, casts ? Dtype::fp32 : full, preset);
  const bool half_grads =
      p.compute == Dtype::fp16 && !defaults_of(s.plan.preset).fp32_grads_with_fp16;
  const bool no_fp32_grads = s.stack.framework.find("aleph alpha") != std::string::npos;
  // llm-foundry's FSDP reduces in the compute type (mixed_precision: PURE).
  const bool pure = s.stack.framework.find("composer") != std::string::npos;
  p.grads = r.take("plan.precision.grads", part.grads,
                   half && !half_grads && !no_fp32_grads && !pure ? Dtype::fp32 : full, preset);
  const bool wide = bits_of(p.params) >= 32;
  p.master = r.take("plan.precision.master", part.master, half && !wide ? Dtype::fp32 : Dtype::none,
                    preset);
  const bool eight = s.plan.optimizer == OptimizerKind::adam8bit;
  p.loss_scaling = r.take("plan.precision.loss_scaling", part.loss_scaling,
                          p.compute == Dtype::fp16, "computed (compute type)");
  p.optimizer_states = r.take("plan.precision.optimizer_states", part.optimizer_states,
                              eight  ? Dtype::fp8
                              : half ? Dtype::fp32
                                     : full,
                              eight ? "plan.optimizer" : preset);
  if (eight && p.optimizer_states != Dtype::fp8)
    r.error(
        "plan.precision.optimizer_states",
        std::string("adam8bit keeps its states in 8 bits, not in ") + name_of(p.optimizer_states),
        "leave optimizer_states out, or optimizer: adamw");
}

void resolve_kernels(const Scenario& s, Resolver& r, ResolvedPlan& p, const std::string& preset) {
  p.attention = r.take("plan.attention", s.plan.attention, AttentionKind::flash, "default");
  p.attention_kernel = r.take("plan.kernels.attention", s.plan.attention_kernel,
                              default_attention_kernel(s, p.attention), "stack date and device");
  p.norm_kernel = r.take("plan.kernels.norm", s.plan.norm_kernel, NormKernel::fused, preset);
  // llm-foundry's loss is FlashAttention's fused one on the logits as they are
  // (models/mpt/modeling_mpt.py, fused_crossentropy).
  const bool composer = s.stack.framework.find("composer") != std::string::npos;
  const CrossEntropyKind loss = composer ? CrossEntropyKind::fused : CrossEntropyKind::plain;
  p.cross_entropy = r.take("plan.logits.cross_entropy", s.plan.cross_entropy, loss, preset);
  p.logits_fp32 = r.take("plan.logits.fp32", s.plan.logits_fp32, !composer, preset);
  p.compile = r.take("plan.compile", s.plan.compile, false, preset);
  p.optimizer = r.take("plan.optimizer", s.plan.optimizer, OptimizerKind::adamw, preset);
}

void resolve_graphs(const Scenario& s, const FrameworkRules& rules, Resolver& r, ResolvedPlan& p,
                    const std::string& preset) {
  if (!r.take("plan.cuda_graphs", s.plan.cuda_graphs, false, preset)) return;
  p.graphs = rules.graphs;
  if (p.graphs == GraphScope::none) {
    r.error("plan.cuda_graphs", rules.name + " of this date captures no graphs in training",
            "docs/host_effects.md has the stacks that do, and since when");
    return;
  }
  const bool layer = p.graphs == GraphScope::layer;
  r.note("plan.cuda_graphs.scope", std::string(layer ? "layer" : "iteration"),
         "framework rule " + rules.name);
}

void resolve_recompute(const Scenario& s, Resolver& r, ResolvedPlan& p, const std::string& preset) {
  const RecomputePart& part = s.plan.recompute;
  p.recompute = r.take("plan.recompute.kind", part.kind, RecomputeKind::none, preset);
  const std::vector<RecomputeModule> core{RecomputeModule::core_attention};
  p.recompute_modules = r.take(
      "plan.recompute.modules", part.modules,
      p.recompute == RecomputeKind::selective ? core : std::vector<RecomputeModule>{}, preset);
  p.recompute_layers = r.take("plan.recompute.layers", part.layers, RecomputeLayers{}, preset);
  if (part.modules && !part.modules->empty() && p.recompute != RecomputeKind::selective) {
    r.error("plan.recompute.modules", "modules are recomputed under kind: selective alone",
            "recompute: {kind: selective, modules: [...]}");
  }
  if (part.layers && !part.kind) {
    r.error("plan.recompute.layers", "layers are recomputed, and no kind says how",
            "recompute: {kind: full, layers: ...} or {kind: selective, ...}");
  }
}

void check_parallel_block(const Scenario& s, Resolver& r, const ResolvedPlan& p) {
  if (!s.model.parallel_block) return;
  if (s.model.mla || s.model.mtp_layers > 0)
    r.error("model.parallel_block",
            "latent attention and multi-token prediction are of layers whose halves follow each "
            "other in every stack",
            "parallel_block: false");
  if (p.quantizes())
    r.error("model.parallel_block",
            "one norm that two products narrower than 16 bits read is not built",
            "parallel_block: false, or precision: {compute: bf16}");
  // gpt-neox megatron/model/transformer.py, gpt_j_residual: both halves' outputs are added before
  // one reduction.
  if (p.tp > 1 && s.stack.framework.find("gpt-neox") != std::string::npos)
    r.error("model.parallel_block", "gpt-neox reduces both halves' outputs at once: not built",
            "tp: 1, or another stack");
}

/// Layout rules that need the resolved values.
void check_layout(const Scenario& s, Resolver& r, const ResolvedPlan& p) {
  const Model& m = s.model;
  if (m.heads % p.tp != 0) {
    r.error("plan.tp",
            "tp = " + std::to_string(p.tp) + " does not divide the " + std::to_string(m.heads) +
                " attention heads",
            "use a tp that divides heads");
  }
  if (!m.mla && m.kv_heads % p.tp != 0) {
    r.error("plan.tp",
            "tp = " + std::to_string(p.tp) + " does not divide the " + std::to_string(m.kv_heads) +
                " key/value heads",
            "use tp <= kv_heads; replicated key/value heads are not built");
  }
  if (m.ffn % p.tp != 0) {
    r.error("plan.tp",
            "tp = " + std::to_string(p.tp) + " does not divide ffn = " + std::to_string(m.ffn),
            "use a tp that divides ffn");
  }
  if (p.sequence_parallel && s.batch.sequence / p.cp * s.batch.micro % p.tp != 0) {
    r.error("plan.sequence_parallel",
            "sequence_parallel splits " + std::to_string(s.batch.sequence / p.cp) +
                " tokens over tp = " + std::to_string(p.tp) + ", which does not divide",
            "choose a sequence that tp divides");
  }
}

void resolve_cluster(ResolvedScenario& out, Resolver& r) {
  Cluster& cluster = out.scenario.cluster;
  const int domain = job_domain(cluster, out.rules);
  if (domain == cluster.nvlink_domain) return;
  r.note("cluster.nvlink_domain", domain, "framework rule " + out.rules.name);
  out.assumptions.push_back("the job has " + std::to_string(domain) + " of the " +
                            std::to_string(cluster.nvlink_domain) +
                            " devices of an NVLink domain: its launcher asks for equal segments");
  cluster.nvlink_domain = domain;
}

}  // namespace

ResolvedScenario resolve(const Scenario& asked) {
  if (!asked.not_built.empty()) throw InputError(asked.not_built);
  ResolvedScenario out{.scenario = asked,
                       .plan = {},
                       .rules = framework_rules(asked),
                       .keys = {},
                       .assumptions = {}};
  const Scenario& s = out.scenario;
  Resolver r(s);
  resolve_cluster(out, r);
  ResolvedPlan& p = out.plan;
  const std::string preset = std::string("preset ") + defaults_of(s.plan.preset).name;
  r.note("stack.rules", out.rules.name, s.stack.framework.empty() ? "preset" : "stack.framework");
  r.note("plan.tp", s.plan.tp, "scenario");
  r.note("plan.pp", s.plan.pp, "scenario");
  resolve_degrees(s, r, p);
  resolve_order(s, r, p, preset);
  r.note("plan.cp", s.plan.cp, "scenario");
  p.sequence_parallel =
      r.take("plan.sequence_parallel", s.plan.sequence_parallel, false, preset) && p.tp > 1;
  resolve_schedule(s, out.rules, r, p, preset);
  resolve_sharding(s, out.rules, r, p, preset);
  resolve_recompute(s, r, p, preset);
  resolve_precision(s, out.rules, r, p, preset);
  resolve_kernels(s, r, p, preset);
  resolve_graphs(s, out.rules, r, p, preset);
  resolve_experts(s, r, p, preset);
  resolve_overlap(s, out.rules, r, p, preset);
  resolve_context(s, r, p, preset);
  check_latent(s, out.rules, r, p);
  resolve_lora(s, out.rules, r, p);
  resolve_offload(out, r, preset);
  const std::int64_t multiple = std::max<std::int64_t>(1, out.rules.vocab_multiple) * p.tp;
  const std::int64_t padded = (s.model.vocab + multiple - 1) / multiple * multiple;
  p.vocab_padded = r.take("model.vocab_padded_to", s.model.vocab_padded_to, padded,
                          "framework rule " + out.rules.name);
  if (p.vocab_padded < s.model.vocab || p.vocab_padded % p.tp != 0) {
    r.error("model.vocab_padded_to", "vocab_padded_to must be at least vocab and a multiple of tp",
            "leave it out for the framework's rule");
  }
  check_layout(s, r, p);
  check_parallel_block(s, r, p);
  if (!out.rules.known) {
    out.assumptions.push_back("stack.framework '" + s.stack.framework +
                              "' is not known: generic rules");
  }
  if (p.loss_scaling && p.compute != Dtype::fp16) {
    out.assumptions.push_back(std::string("loss scaling with ") + name_of(p.compute) +
                              " compute is lowered as asked; only fp16 needs it");
  }
  if (out.rules.slowdown_sigma > 0) {
    out.assumptions.push_back("runs like this under " + out.rules.name +
                              " took longer than their parts, cause unknown: the interval's slow "
                              "side allows for it");
  }
  for (const std::string& a : s.assumed)
    out.assumptions.push_back("the source does not state " + a);
  if (!r.errors.empty()) throw InputError(std::move(r.errors));
  out.keys = std::move(r.keys);
  return out;
}

}  // namespace windtunnel
