// What ships: every scenario and every cluster loads and says what its name says.

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/scenarios/loading.h"

namespace windtunnel {
namespace {

namespace fs = std::filesystem;

const fs::path kScenarios = fs::path(WINDTUNNEL_SOURCE_DIR) / "scenarios";

Scenario training(const char* name) {
  return load_scenarios((kScenarios / "training" / name).string()).scenarios.at(0);
}

TEST(Shipped, EveryTrainingScenarioLoadsAndIsBuilt) {
  const auto files = find_scenario_files((kScenarios / "training").string());
  EXPECT_GE(files.size(), 4U);
  for (const std::string& file : files) {
    for (const Scenario& scenario : load_scenarios(file).scenarios) {
      EXPECT_EQ(scenario.id, fs::path(file).stem().string());
      EXPECT_TRUE(scenario.not_built.empty()) << file;
    }
  }
}

TEST(Shipped, EveryClusterIsKnownByItsName) {
  int clusters = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kScenarios / "clusters")) {
    if (entry.path().extension() != ".yaml") continue;
    ++clusters;
    const std::string name = entry.path().stem().string();
    const Scenario scenario = load_one("model: gpt2\ncluster: " + name +
                                       "\nbatch: {global: 72000, micro: 1, sequence: 8}\n");
    EXPECT_EQ(scenario.cluster.name, name);
    EXPECT_EQ(scenario.cluster.network.has_value(), scenario.cluster.nodes > 1) << name;
  }
  EXPECT_GE(clusters, 5);
}

TEST(Shipped, Gpt3OnSixtyFourA100) {
  const Scenario s = training("gpt3-175b-64a100.yaml");
  EXPECT_EQ(s.cluster.devices(), 64);
  EXPECT_EQ(s.cluster.network->nic_bandwidth.value, 25e9);
  EXPECT_EQ(s.model.layers, 96);
  EXPECT_EQ(s.measured->step_time->value, 13.75);
  EXPECT_EQ(s.measured->oom, false);
}

TEST(Shipped, Llama405bOn16384) {
  const Scenario s = training("llama3-405b-16384.yaml");
  EXPECT_EQ(s.cluster.devices(), 16384);
  EXPECT_EQ(s.batch.global / (*s.plan.dp * s.batch.micro), 128);  // micro-batches of a replica
  EXPECT_EQ(s.model.layers + 2, s.plan.pp * *s.plan.schedule.virtual_stages);
}

}  // namespace
}  // namespace windtunnel
