// One scenario with every key of the format: all are read, none is ignored.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "scenarios/format_keys.h"
#include "tests/scenarios/loading.h"

namespace windtunnel {
namespace {

Scenario every_key() {
  const std::filesystem::path root(WINDTUNNEL_SOURCE_DIR);
  return load_scenarios((root / "tests/scenarios/data/every_key.yaml").string()).scenarios.at(0);
}

TEST(EveryKey, HasAPlace) {
  const Scenario scenario = every_key();
  std::set<std::string> written;
  for (const auto& [key, place] : scenario.positions) {
    written.insert(std::regex_replace(key, std::regex("degraded\\.[0-9]+"), "degraded"));
  }
  for (const KeySection& section : format_sections()) {
    for (const std::string_view key : section.keys) {
      const std::string path = dotted(section.path, key);
      EXPECT_TRUE(written.contains(path)) << path << " is not in every_key.yaml";
    }
  }
}

TEST(EveryKey, IsReadIntoItsField) {
  const Scenario s = every_key();
  EXPECT_EQ(s.stack.framework, "megatron-lm");
  EXPECT_EQ(s.model.vocab_padded_to, 256);
  EXPECT_EQ(s.model.layer_pattern.size(), 2U);
  EXPECT_EQ(*s.model.moe->capacity_factor, 1.25);
  EXPECT_EQ(s.cluster.network->latency->value, 2e-6);
  EXPECT_EQ(s.cluster.network->kind, NetworkKind::roce);
  EXPECT_EQ(s.cluster.degraded.at(1).rank, 17);
  EXPECT_EQ(s.cluster.price_device_hour, 2.0);
  EXPECT_EQ(s.cluster.unit->layer.at("B").value, 2.0);
  EXPECT_EQ(s.cluster.unit->stage_scale.at(3), 1.5);
  EXPECT_EQ(s.cluster.unit->collective.at("all_gather").value, 0.5);
  EXPECT_EQ(s.plan.order, (std::vector<std::string>{"tp", "cp", "ep", "dp", "pp"}));
  EXPECT_EQ(s.plan.cp_kind, CpKind::ulysses_ring);
  EXPECT_EQ(s.plan.schedule.micro_batch_group, 4);
  EXPECT_EQ(s.plan.sharding.reshard_after_forward, 2);
  EXPECT_EQ(s.plan.sharding.prefetch, 0);
  EXPECT_EQ(s.plan.recompute.layers->kind, RecomputeLayers::Kind::every);
  EXPECT_EQ(s.plan.recompute.layers->n, 2);
  EXPECT_EQ(s.plan.recompute.modules->size(), 2U);
  EXPECT_EQ(s.plan.precision.master, Dtype::none);
  EXPECT_EQ(s.plan.lora->rank, 16);
  EXPECT_EQ(s.plan.lora->alpha, 32);
  EXPECT_EQ(s.plan.norm_kernel, NormKernel::eager);
  EXPECT_EQ(s.plan.overlap.pp, false);
  EXPECT_EQ(s.cluster.host.memory->value, 2e12);
  EXPECT_EQ(s.cluster.host.memory_bandwidth->value, 400e9);
  EXPECT_EQ(s.cluster.unit->offload.at("to_device").value, 0.3);
  EXPECT_EQ(s.plan.offload.activations, 1.0);
  EXPECT_EQ(s.plan.offload.overlap, true);
  EXPECT_EQ(s.plan.logits_fp32, true);
  EXPECT_TRUE(s.allocator.expandable_segments);
  EXPECT_EQ(s.data.load_time.value, 0.01);
  EXPECT_EQ(s.measured->step_time_range->second.value, 13.9);
  EXPECT_EQ(s.measured->peak_reserved->value, 64e9);
  EXPECT_EQ(s.measured->peak_rank, 0);
  EXPECT_EQ(s.workload.concurrency, 8);
  EXPECT_EQ(s.sweep.size(), 2U);
  EXPECT_EQ(s.run.at("run.tokens"), "15.6e12");
}

}  // namespace
}  // namespace windtunnel
