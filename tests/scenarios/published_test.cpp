// A sample of published runs, as people collect them: one row of each source, read in full.

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/scenarios/loading.h"

namespace windtunnel {
namespace {

ScenarioSet sample() {
  const std::filesystem::path root(WINDTUNNEL_SOURCE_DIR);
  return load_scenarios((root / "tests/scenarios/data/published_sample.yaml").string());
}

const Scenario& row(const ScenarioSet& set, const std::string& id) {
  for (const Scenario& s : set.scenarios) {
    if (s.id == id) return s;
  }
  throw std::out_of_range(id);
}

TEST(PublishedSample, EveryRowIsRead) {
  const ScenarioSet set = sample();
  EXPECT_EQ(set.scenarios.size(), 8U);
  for (const Scenario& s : set.scenarios) {
    EXPECT_FALSE(s.measured->source.empty()) << s.id;
    EXPECT_GT(s.model.head_dim, 0) << s.id;
  }
}

TEST(PublishedSample, ADenseRow) {
  const ScenarioSet set = sample();
  const Scenario& s = row(set, "bloom-a100-l608");
  EXPECT_EQ(s.stack.framework, "megatron-deepspeed (pytorch 1.11, no flash attention)");
  EXPECT_EQ(s.stack.date, "2022-02-21");
  EXPECT_EQ(s.model.position, PositionKind::alibi);
  EXPECT_TRUE(s.model.tied_embeddings);
  EXPECT_EQ(s.cluster.network->nic_bandwidth.value, 12.5e9);
  EXPECT_EQ(s.plan.preset, Preset::megatron_deepspeed);
  EXPECT_EQ(s.plan.recompute.kind, RecomputeKind::full);
  EXPECT_EQ(s.plan.precision.grads, Dtype::fp16);
  EXPECT_EQ(s.measured->step_time->value, 134.02);
  EXPECT_EQ(s.measured->peak_device->value, 37.0 * (1 << 30));
  EXPECT_TRUE(s.not_built.empty());
}

TEST(PublishedSample, AnOutOfMemoryRow) {
  const ScenarioSet set = sample();
  const Scenario& s = row(set, "aa-13b-2048-64g-132173");
  EXPECT_EQ(s.measured->oom, true);
  EXPECT_FALSE(s.measured->step_time);
  EXPECT_EQ(s.plan.norm_kernel, NormKernel::fused);
  EXPECT_EQ(s.group, "aleph_alpha_layouts-llama-13b-2048-64-2048");
}

TEST(PublishedSample, ARowWithLatentAttention) {
  const ScenarioSet set = sample();
  const Scenario& s = row(set, "mbridge-26.08-pre-deepseekv3-gb300-256g-mxfp8-gbs4096-tp1pp2ep32");
  EXPECT_EQ(s.model.moe->experts, 256);
  EXPECT_EQ(s.model.mla->kv_lora_rank, 512);
  EXPECT_EQ(s.cluster.nvlink_domain, 72);
  EXPECT_EQ(s.plan.precision.compute, Dtype::mxfp8);
  EXPECT_EQ(s.model.mtp_layers, 1);
  EXPECT_TRUE(s.not_built.empty());
}

}  // namespace
}  // namespace windtunnel
