#include "plan/resolve_lora.h"

#include <algorithm>
#include <string>

#include "models/architectures/model_problems.h"

namespace windtunnel {

namespace {

void check_model(const Model& m, Resolver& r) {
  if (m.moe)
    r.error("plan.lora", "adapters of experts are not built", "a dense model, or lora: none");
  if (m.mla)
    r.error("plan.lora", "adapters of latent attention's projections are not built",
            "a model without mla, or lora: none");
  if (m.mtp_layers > 0)
    r.error("plan.lora", "adapters beside multi-token prediction are not built",
            "mtp_layers: 0, or lora: none");
}

void check_tensor_parallel(const Scenario& s, Resolver& r, const ResolvedPlan& p) {
  if (p.tp == 1) return;
  if (s.plan.preset != Preset::none && s.plan.preset != Preset::megatron)
    r.error("plan.lora", "over tensor-parallel ranks adapters are cut as Megatron-Bridge cuts them",
            "tp: 1, or preset: megatron");
  if (p.lora->per_projection)
    r.error("plan.lora", "an adapter of each projection is not built over tensor-parallel ranks",
            "tp: 1, or a Megatron stack");
  if (p.lora->rank % p.tp != 0)
    r.error("plan.lora.rank",
            "rank = " + std::to_string(p.lora->rank) + " is cut over tp = " + std::to_string(p.tp) +
                ", which does not divide it",
            "a rank that tp divides");
  if (s.model.hidden % p.tp != 0)
    r.error("plan.tp",
            "adapters cut hidden = " + std::to_string(s.model.hidden) +
                " over tp = " + std::to_string(p.tp) + ", which does not divide it",
            "a tp that divides hidden");
}

void check_plan(const Scenario& s, Resolver& r, const ResolvedPlan& p) {
  if (p.lora->rank > kMaxWidth)
    r.error("plan.lora.rank",
            "rank = " + std::to_string(p.lora->rank) + " is wider than the " +
                std::to_string(kMaxWidth) + " a model may be",
            "a rank below hidden");
  if (p.quantizes())
    r.error("plan.lora", "adapters beside products narrower than 16 bits are not built",
            "precision: {compute: bf16}");
  if (p.overlap_tp)
    r.error("plan.lora", "adapters beside products that overlap their transfers are not built",
            "overlap: {tp: false}");
  if (p.cross_entropy == CrossEntropyKind::chunked)
    r.error("plan.lora", "a chunked loss makes the head's gradient, which a frozen head has not",
            "logits: {cross_entropy: plain}");
  if (p.graphs != GraphScope::none)
    r.error("plan.lora", "adapters in captured graphs are not built", "cuda_graphs: false");
  if (p.pp > 1 && !p.layers_per_chunk.empty() && p.layers_per_chunk.front() == 0)
    r.error("plan.schedule.layers_per_stage",
            "the first stage has no layers, so nothing on it is trained and no backward ends there",
            "a layer on the first stage, or lora: none");
  if (s.plan.preset == Preset::fsdp1 && p.shards_weights())
    r.error("plan.lora",
            "fsdp1 keeps frozen and trained weights apart: a unit of each adapter is not built",
            "preset: fsdp2");
}

}  // namespace

void resolve_lora(const Scenario& s, const FrameworkRules& rules, Resolver& r, ResolvedPlan& p) {
  if (!s.plan.lora) return;
  const Lora& asked = *s.plan.lora;
  const std::vector<LoraModule> all{LoraModule::attention, LoraModule::mlp};
  r.note("plan.lora.rank", asked.rank, "scenario");
  // PEFT's LoraConfig (r 8, lora_alpha 8) and Megatron-Bridge's LoRA (dim 32, alpha 32).
  const std::int64_t alpha = r.take("plan.lora.alpha", asked.alpha, asked.rank, "computed (rank)");
  // Megatron-Bridge peft/lora.py, target_modules: qkv, proj, fc1, fc2.
  const auto modules = r.take("plan.lora.modules", asked.modules, all, "default");
  if (modules.empty())
    r.error("plan.lora.modules", "without modules there is nothing to train",
            "modules: [attention, mlp]");
  const auto has = [&](LoraModule m) {
    return std::find(modules.begin(), modules.end(), m) != modules.end();
  };
  p.lora = LoraShape{.rank = asked.rank,
                     .alpha = alpha,
                     .attention = has(LoraModule::attention),
                     .mlp = has(LoraModule::mlp),
                     .per_projection = rules.adapters_per_projection};
  check_model(s.model, r);
  check_tensor_parallel(s, r, p);
  check_plan(s, r, p);
}

}  // namespace windtunnel
