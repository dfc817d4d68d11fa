// `run --verify`: ranks that are processes under MPI compute what one device computes, send what
// the program says, and hold what the replay says.

#include <gtest/gtest.h>

#include <ostream>
#include <sstream>

#include "tests/cli/program.h"
#include "tests/runtime/run_scenarios.h"

namespace windtunnel {

struct VerifiedPlan {
  const char* name;
  int ranks;
  const char* plan;
  const char* model = kToyGpt;
};

void PrintTo(const VerifiedPlan& row, std::ostream* out) {
  *out << row.name;
}

namespace {

constexpr const char* kOverlap =
    "sharding: {kind: zero1, overlap_grad_reduce: true, overlap_param_gather: true, bucket: 1000}";
const std::string kThree = std::string("tp: 2, pp: 2, dp: 2, sequence_parallel: true, ") + kOverlap;
const std::string kInterleaved =
    kThree + ", schedule: {kind: interleaved_1f1b, virtual_stages: 2}, overlap: {pp: true}";

constexpr const char* kLlama = "activation: swiglu";
constexpr const char* kLocal =
    "activation: swiglu, sliding_window: 3, layer_pattern: [local, full]";
constexpr const char* kExperts = "activation: swiglu, moe: {experts: 4, top_k: 2, ffn: 8}";
constexpr const char* kLatent =
    "activation: swiglu, mla: {q_lora_rank: 6, kv_lora_rank: 8, qk_nope_head_dim: 4, "
    "qk_rope_head_dim: 2, v_head_dim: 4}";
constexpr const char* kPredicting = "activation: swiglu, mtp_layers: 1";
constexpr const char* kDeepSeek =
    "activation: swiglu, mtp_layers: 1, moe: {experts: 4, top_k: 2, ffn: 8, shared_experts: 1, "
    "dense_layers: 1}, mla: {q_lora_rank: 6, kv_lora_rank: 8, qk_nope_head_dim: 4, "
    "qk_rope_head_dim: 2, v_head_dim: 4}";

constexpr const char* kOffload =
    "pp: 2, dp: 2, sharding: {kind: zero1, overlap_grad_reduce: true, bucket: 1000}, "
    "offload: {optimizer: 0.5, overlap: true}";

const VerifiedPlan kPlans[] = {
    {"tp2", 2, "tp: 2"},
    {"pp2_1f1b", 2, "pp: 2, schedule: {kind: 1f1b}"},
    {"pp2_gpipe", 2, "pp: 2, schedule: {kind: gpipe}"},
    {"dp2_zero1", 2, "dp: 2, sharding: {kind: zero1}"},
    {"dp2_overlap", 2, "dp: 2, sharding: {kind: none, overlap_grad_reduce: true, bucket: 1000}"},
    {"dp2_fsdp", 2, "dp: 2, sharding: {kind: fsdp}"},
    {"dp4_hsdp", 4, "dp: 4, sharding: {kind: hsdp, shard_degree: 2}"},
    {"cp2_ring", 2, "cp: 2, cp_kind: ring"},
    {"cp2_ulysses", 2, "cp: 2, cp_kind: ulysses"},
    {"pp2_zb_h1", 2, "pp: 2, schedule: {kind: zb_h1}"},
    {"pp2_dualpipe", 2, "pp: 2, schedule: {kind: dualpipe}", kLlama},
    {"tp2_sliding_window", 2, "tp: 2", kLocal},
    {"tp2_overlap", 2, "tp: 2, sequence_parallel: true, overlap: {tp: true}"},
    {"tp2_dp2_lora", 4, "tp: 2, dp: 2, sequence_parallel: true, lora: {rank: 4, alpha: 6}"},
    {"dp2_fsdp_lora", 2, "dp: 2, sharding: {kind: fsdp}, lora: {rank: 4, modules: [mlp]}"},
    {"ep2_zero1", 2, "dp: 2, ep: 2, sharding: {kind: zero1}", kExperts},
    {"cp2_dp2_ep2_zero1", 4, "cp: 2, dp: 2, ep: 2, sharding: {kind: zero1}", kExperts},
    {"cp2_dp2_ep4_fsdp", 4, "cp: 2, dp: 2, ep: 4, preset: fsdp2", kExperts},
    {"cp2_ring_latent", 2, "cp: 2, cp_kind: ring", kLatent},
    {"dp4_ep2_hsdp2", 4, "dp: 4, ep: 2, preset: fsdp2, sharding: {kind: hsdp, shard_degree: 2}",
     kExperts},
    {"dp2_fsdp_predicting", 2, "dp: 2, preset: fsdp2", kPredicting},
    {"pp2_ep2_latent_predicting", 4, "pp: 2, dp: 2, ep: 2, sharding: {kind: zero1}", kDeepSeek},
    {"tp2_pp2_sequence_parallel", 4, "tp: 2, pp: 2, sequence_parallel: true"},
    {"tp2_pp2_full_recompute", 4, "tp: 2, pp: 2, recompute: {kind: full}"},
    {"dp2_offload", 2, "dp: 2, offload: {optimizer: 1.0}"},
    {"pp2_dp2_zero1_offload", 4, kOffload},
    {"pp2_offload_activations", 2, "pp: 2, offload: {activations: 1.0}"},
    {"dp2_zero3_offload_all", 2,
     "dp: 2, sharding: {kind: zero3, overlap_param_gather: true}, "
     "offload: {optimizer: 1.0, params: 1.0, activations: 0.5, overlap: true}"},
    {"tp2_pp2_dp2_interleaved", 8, kInterleaved.c_str()},
};

class RunVerify : public ProgramTest, public testing::WithParamInterface<VerifiedPlan> {};

std::string name_of(const testing::TestParamInfo<VerifiedPlan>& info) {
  return info.param.name;
}

TEST_P(RunVerify, EqualInAllFiveLines) {
  const VerifiedPlan& row = GetParam();
  write("s.yaml", toy_yaml(row.name, row.ranks, row.plan, row.model));
  const Finished run = windtunnel("run s.yaml --verify");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  std::istringstream lines(run.out);
  for (const char* what : {"field", "fp64", "fp32", "bytes", "memory"}) {
    std::string first, said;
    lines >> first >> said;
    EXPECT_EQ(first, what) << run.out;
    EXPECT_EQ(said, "equal") << run.out;
    std::getline(lines, said);
  }
  std::string more;
  EXPECT_FALSE(lines >> more) << run.out;
}

INSTANTIATE_TEST_SUITE_P(Plans, RunVerify, testing::ValuesIn(kPlans), name_of);

class Run : public ProgramTest {};

TEST_F(Run, ReportsAMeasuredStep) {
  write("s.yaml", toy_yaml("s", 2, "pp: 2"));
  const Finished run = windtunnel("run s.yaml --steps 2 --json");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  expect_contains(run.out, "\"s\"");
}

TEST_F(Run, RefusesOtherDevices) {
  write("s.yaml",
        "model: gpt2\ncluster: {device: a100-sxm-80gb, devices_per_node: 1, nodes: 1}\n"
        "batch: {global: 1, micro: 1, sequence: 32}\n");
  const Finished run = windtunnel("run s.yaml");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  expect_contains(run.err, "s.yaml:2:");
  expect_contains(run.err, "not on a100-sxm-80gb");
  expect_contains(run.err, "hint: device: cpu");
}

TEST_F(Run, RefusesTypesTheDeviceDoesNotStore) {
  write("s.yaml",
        "model: {name: toy, layers: 1, hidden: 16, ffn: 24, heads: 4, vocab: 27}\n"
        "cluster: {device: cpu, devices_per_node: 1, nodes: 1}\n"
        "batch: {global: 1, micro: 1, sequence: 8}\n"
        "plan: {precision: {compute: bf16}}\n");
  const Finished run = windtunnel("run s.yaml");
  EXPECT_EQ(run.exit_code, 2);
  expect_contains(run.err, "s.yaml:4:");
  expect_contains(run.err, "is bf16");
  expect_contains(run.err, "hint: precision: {compute: fp32}");
}

TEST_F(Run, RefusesToProveALargeModel) {
  write("s.yaml",
        "model: gpt2\n"
        "cluster: {device: cpu, devices_per_node: 2, nodes: 1}\n"
        "batch: {global: 4, micro: 1, sequence: 1024}\n"
        "plan: {tp: 2, precision: {compute: fp32}}\n");
  const Finished run = windtunnel("run s.yaml --verify");
  EXPECT_EQ(run.exit_code, 2);
  expect_contains(run.err, "too long for the naive kernels of a proof");
  expect_contains(run.err, "hint: at most 1e+09");
}

TEST_F(Run, RefusesStepsThatAreNone) {
  write("s.yaml", toy_yaml("s", 2, "pp: 2"));
  for (const char* option : {"--steps 0", "--steps -1", "--steps x", "--hang-after 0",
                             "--hang-after -1", "--warm-up -1"}) {
    EXPECT_EQ(windtunnel(std::string("run s.yaml ") + option).exit_code, 2) << option;
  }
}

TEST_F(Run, NeedsMpirun) {
  write("s.yaml", toy_yaml("s", 2, "pp: 2"));
  const Finished run = shell("env PATH=/nowhere \"$WINDTUNNEL\" run s.yaml");
  EXPECT_EQ(run.exit_code, 3);
  expect_contains(run.err, "no mpirun on the PATH");
}

/// An mpirun whose rank 1 has too few addresses for a device.
constexpr const char* kPoorRank = R"sh(mkdir bin
cat > bin/rank <<'END'
#!/bin/sh
if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then ulimit -v 900000; fi
exec "$@"
END
cat > bin/mpirun <<END
#!/bin/bash
words=()
for word in "\$@"; do
  case "\$word" in */windtunnel-rank) words+=("$PWD/bin/rank") ;; esac
  words+=("\$word")
done
exec $(command -v mpirun) "\${words[@]}"
END
chmod +x bin/*
PATH="$PWD/bin:$PATH" "$WINDTUNNEL" run s.yaml)sh";

TEST_F(Run, NamesTheRankThatFailsAndItsCause) {
  write("s.yaml", toy_yaml("s", 2, "pp: 2"));
  const Finished run = shell(kPoorRank);
  EXPECT_EQ(run.exit_code, 4);
  expect_contains(run.err,
                  "error: rank 1 failed: the system reserves no address range for device memory");
  expect_contains(run.err, "\n  rank 0: ");
}

}  // namespace
}  // namespace windtunnel
