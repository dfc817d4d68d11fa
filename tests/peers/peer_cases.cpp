#include "tests/peers/peer_cases.h"

#include <cstdint>

namespace windtunnel::peers {

namespace {

/// Embedding and head in the root, as fully_shard leaves what no call names.
void fsdp2_root(Scenario& s) {
  s.plan.preset = Preset::fsdp2;
  s.stack = {.framework = "pytorch", .version = "", .date = "2024-06"};
}
void fsdp2(Scenario& s) {
  s.plan.preset = Preset::fsdp2;
  s.stack = {.framework = "torchtitan (fsdp2)", .version = "", .date = "2025-06"};
}
void fsdp2_keep(Scenario& s) {
  fsdp2(s);
  s.plan.sharding.reshard_after_forward = 0;
}
void hsdp(Scenario& s) {
  fsdp2(s);
  s.plan.sharding.kind = ShardingKind::hsdp;
  s.plan.sharding.shard_degree = 2;
}

void fsdp1(Scenario& s) {
  s.plan.preset = Preset::fsdp1;
}
void fsdp1_keep(Scenario& s) {
  fsdp1(s);
  s.plan.sharding.reshard_after_forward = 0;
}

/// fp32 throughout, as the recorded model without a mixed precision policy is.
void single_precision(Scenario& s) {
  s.plan.precision.compute = Dtype::fp32;
}

template <std::int64_t cap_bytes>
void ddp(Scenario& s) {
  s.plan.preset = Preset::ddp;
  single_precision(s);
  if (cap_bytes > 0) s.plan.sharding.bucket = (cap_bytes + 3) / 4;
}
void ddp_bf16(Scenario& s) {
  s.plan.preset = Preset::ddp;
  s.plan.precision.grads = Dtype::bf16;
  s.plan.sharding.bucket = (31457 + 1) / 2;
}
constexpr std::int64_t kSmallCap = 31457;  // int(0.03 MiB)

void tensor(Scenario& s) {
  s.plan.tp = 2;
  s.plan.dp = 1;
  s.stack.framework = "pytorch";
  single_precision(s);
}
void tensor_sequence(Scenario& s) {
  tensor(s);
  s.plan.sequence_parallel = true;
}

template <ScheduleKind kind>
void pipeline(Scenario& s) {
  s.plan.pp = s.cluster.devices_per_node;
  s.plan.dp = 1;
  s.plan.schedule.kind = kind;
  s.stack.framework = "pytorch";
  single_precision(s);
}
void interleaved(Scenario& s) {
  pipeline<ScheduleKind::interleaved_1f1b>(s);
  s.plan.schedule.virtual_stages = 2;
  s.plan.overlap.pp = true;
}
void fsdp2_pipeline(Scenario& s) {
  fsdp2(s);
  s.plan.pp = 2;
  s.plan.dp = 2;
}
void fsdp2_interleaved(Scenario& s) {
  fsdp2_pipeline(s);
  s.plan.schedule = {.kind = ScheduleKind::interleaved_1f1b, .virtual_stages = 2};
  s.plan.overlap.pp = true;
}

constexpr Detail kUnits = Detail::unit_marks, kParts = Detail::part_marks,
                 kGrads = Detail::gradients, kActions = Detail::actions;
using Names = std::vector<const char*>;

std::vector<PeerCase> fully_shard_cases() {
  const Names plain{"no_clipping", "loss_all_reduce"};
  const Names clips{"clip_per_parameter", "loss_all_reduce"};
  return {
      {"fsdp2_2", "root_reshard", kUnits, fsdp2_root, plain},
      {"fsdp2_2", "root_keep", kUnits,
       [](Scenario& s) {
         fsdp2_root(s);
         s.plan.sharding.reshard_after_forward = 0;
       },
       plain},
      {"fsdp2_2", "titan_reshard", kUnits, fsdp2, clips},
      {"fsdp2_2", "titan_keep", kUnits, fsdp2_keep, plain},
      {"fsdp2_2", "titan_checkpointed", kUnits,
       [](Scenario& s) {
         fsdp2(s);
         s.plan.recompute.kind = RecomputeKind::full;
       },
       plain},
      {"fsdp2_2", "accumulate", kUnits, fsdp2, plain, 2},
      {"fsdp2_2",
       "prefetch_two",
       kUnits,
       [](Scenario& s) {
         fsdp2_root(s);
         s.plan.sharding.prefetch = 2;
       },
       {"root_prefetches", "no_clipping", "loss_all_reduce"}},
      {"fsdp2_2", "uneven", kUnits, fsdp2_root, plain},
      {"fsdp2_4", "root_reshard", kUnits, fsdp2_root, plain},
      {"fsdp2_4", "uneven", kUnits, fsdp2_root, plain},
      {"fsdp2_4", "root_reshard_to_2", kUnits,
       [](Scenario& s) {
         fsdp2_root(s);
         s.plan.sharding.reshard_after_forward = 2;
       },
       plain},
      {"fsdp2_4", "titan_reshard_to_2_accumulate", kUnits,
       [](Scenario& s) {
         fsdp2(s);
         s.plan.sharding.reshard_after_forward = 2;
       },
       plain, 2},
      {"fsdp2_hsdp_4", "hsdp_2x2", kUnits, hsdp, clips},
      {"fsdp2_hsdp_4", "hsdp_2x2_accumulate", kUnits, hsdp, plain, 2},
  };
}

std::vector<PeerCase> flat_parameter_cases() {
  return {
      {"fsdp1_2", "full_shard_pre", kUnits, fsdp1, {"one_reduction_in_flight", "loss_all_reduce"}},
      {"fsdp1_2",
       "full_shard_none",
       kUnits,
       [](Scenario& s) {
         fsdp1(s);
         s.plan.sharding.prefetch = 0;
       },
       {"one_reduction_in_flight", "loss_all_reduce"}},
      {"fsdp1_2",
       "full_shard_forward_prefetch",
       kUnits,
       [](Scenario& s) {
         fsdp1(s);
         s.plan.sharding.prefetch = 1;
       },
       {"late_post_backward", "one_reduction_in_flight", "loss_all_reduce"}},
      {"fsdp1_2",
       "shard_grad_op_pre",
       kUnits,
       fsdp1_keep,
       {"one_reduction_in_flight", "loss_all_reduce"}},
      {"fsdp1_2", "uneven", kUnits, fsdp1, {"one_reduction_in_flight", "loss_all_reduce"}},
  };
}

std::vector<PeerCase> replica_cases() {
  return {
      {"ddp_2", "default_cap", kGrads, ddp<0>, {"loss_all_reduce"}},
      {"ddp_2", "cap_half_mib", kGrads, ddp<1 << 19>, {"loss_all_reduce"}},
      {"ddp_2", "cap_2_mib", kGrads, ddp<2 << 20>, {"loss_all_reduce"}},
      {"ddp_2", "cap_0.03_mib", kGrads, ddp<kSmallCap>, {"loss_all_reduce"}},
      {"ddp_2", "cap_0.03_mib_bucket_view", kGrads, ddp<kSmallCap>, {"loss_all_reduce"}},
      {"ddp_2",
       "cap_0.03_mib_static_graph",
       kGrads,
       ddp<kSmallCap>,
       {"buckets_announced", "loss_all_reduce"}},
      {"ddp_2", "cap_0.03_mib_no_sync", kGrads, ddp<kSmallCap>, {"loss_all_reduce"}, 2},
      {"ddp_2", "cap_0.03_mib_bf16", kGrads, ddp_bf16, {"loss_all_reduce"}},
      {"ddp_4", "default_cap", kGrads, ddp<0>, {"loss_all_reduce"}},
      {"ddp_4", "cap_0.03_mib", kGrads, ddp<kSmallCap>, {"loss_all_reduce"}},
  };
}

std::vector<PeerCase> model_parallel_cases() {
  const Names plain{"no_clipping", "loss_all_reduce"};
  return {
      {"tensor_parallel_2", "tensor", kParts, tensor, {"logits_gathered", "no_clipping"}},
      {"tensor_parallel_2",
       "tensor_sequence",
       kParts,
       tensor_sequence,
       {"embedding_all_reduced", "logits_gathered", "norm_gradients_at_clip", "clip_per_parameter",
        "partial_gradients_in_optimizer"}},
      {"tensor_parallel_2",
       "tensor_sequence_loss",
       kParts,
       tensor_sequence,
       {"embedding_all_reduced", "norm_gradients_at_clip", "clip_per_parameter",
        "partial_gradients_in_optimizer"}},
      {"pipeline_run_2",
       "gpipe",
       kActions,
       pipeline<ScheduleKind::gpipe>,
       {"transfers_batched", "no_clipping"},
       4},
      {"pipeline_run_2", "1f1b", kActions, pipeline<ScheduleKind::one_f_one_b>, {"no_clipping"}, 4},
      {"pipeline_run_4",
       "1f1b",
       kActions,
       pipeline<ScheduleKind::one_f_one_b>,
       {"transfers_batched", "no_clipping"},
       4},
      {"pipeline_run_2",
       "interleaved_1f1b",
       kActions,
       interleaved,
       {"no_clipping", "receives_posted_ahead"},
       4},
      {"pipeline_run_fsdp_4", "fsdp_1f1b", kActions, fsdp2_pipeline, plain, 4},
      {"pipeline_run_fsdp_4",
       "fsdp_interleaved_1f1b",
       kActions,
       fsdp2_interleaved,
       {"gathered_ahead", "no_clipping", "loss_all_reduce", "receives_posted_ahead"},
       4},
  };
}

std::vector<PeerCase> make_cases() {
  std::vector<PeerCase> cases;
  for (const auto& part :
       {fully_shard_cases(), flat_parameter_cases(), replica_cases(), model_parallel_cases()})
    cases.insert(cases.end(), part.begin(), part.end());
  return cases;
}

}  // namespace

const std::vector<PeerCase>& peer_cases() {
  static const std::vector<PeerCase> kCases = make_cases();
  return kCases;
}

}  // namespace windtunnel::peers
