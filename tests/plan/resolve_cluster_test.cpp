// How many devices of an NVLink domain a job has, by what its launcher asks for.

#include "plan/resolve_cluster.h"

#include <gtest/gtest.h>

#include "plan/resolve.h"

namespace windtunnel {
namespace {

Cluster racks(int nodes) {
  return {.device = "gb200-186gb", .devices_per_node = 4, .nodes = nodes, .nvlink_domain = 72};
}

TEST(JobDomain, IsTheMostNodesThatDivideTheJobs) {
  FrameworkRules rules;
  rules.equal_segments = true;
  EXPECT_EQ(job_domain(racks(18), rules), 72);
  EXPECT_EQ(job_domain(racks(64), rules), 64);  // four racks, two nodes of each left over
  EXPECT_EQ(job_domain(racks(32), rules), 64);
  EXPECT_EQ(job_domain(racks(36), rules), 72);
  EXPECT_EQ(job_domain(racks(20), rules), 40);
  EXPECT_EQ(job_domain(racks(23), rules), 4);  // no number of nodes divides them
  Cluster dgx{.devices_per_node = 8, .nodes = 6, .nvlink_domain = 8};
  EXPECT_EQ(job_domain(dgx, rules), 8);
  rules.equal_segments = false;
  EXPECT_EQ(job_domain(racks(64), rules), 72);
}

TEST(JobDomain, IsAskedForByMegatronBridge) {
  Scenario s;
  s.model = {.layers = 4,
             .hidden = 64,
             .ffn = 128,
             .heads = 4,
             .kv_heads = 4,
             .head_dim = 16,
             .vocab = 256};
  s.cluster = racks(64);
  s.batch = {.global = 256, .micro = 1, .sequence = 64};
  s.stack = {.framework = "megatron-lm", .date = "2026-01"};
  EXPECT_EQ(resolve(s).scenario.cluster.nvlink_domain, 72);
  EXPECT_TRUE(resolve(s).assumptions.empty());
  s.stack.framework = "megatron-bridge";
  EXPECT_EQ(resolve(s).scenario.cluster.nvlink_domain, 64);
  ASSERT_EQ(resolve(s).assumptions.size(), 1U);
  EXPECT_EQ(resolve(s).assumptions[0],
            "the job has 64 of the 72 devices of an NVLink domain: its launcher asks for equal "
            "segments");
}

}  // namespace
}  // namespace windtunnel
