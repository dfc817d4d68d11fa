// windtunnel calibrate: usage, and a profile from a short calibration that a simulation takes.

#include "tests/cli/program.h"

namespace windtunnel {
namespace {

using Calibrate = ProgramTest;

const char* const kScenario =
    "id: one\n"
    "model: {layers: 1, hidden: 16, ffn: 32, heads: 2, vocab: 32}\n"
    "cluster: {device: cpu, devices_per_node: 1, nodes: 1}\n"
    "profile: cpu.profile.json\n"
    "batch: {global: 2, micro: 1, sequence: 8}\n"
    "plan: {precision: {compute: fp32}}\n";

TEST_F(Calibrate, WritesAProfileThatASimulationTakes) {
  write("one.yaml", kScenario);
  const Finished before = windtunnel("simulate one.yaml");
  EXPECT_EQ(before.exit_code, 2);
  expect_contains(before.err, "windtunnel calibrate --for");
  const Finished f =
      windtunnel("calibrate --for one.yaml --budget 1s -o cpu.profile.json --samples s.jsonl");
  ASSERT_EQ(f.exit_code, 0) << f.err;
  EXPECT_EQ(f.err, "") << "progress is for terminals";
  expect_contains(f.out, "cpu of cpu");
  expect_contains(f.out, "Transfers between ranks: not measured");
  const Finished shown = windtunnel("calibrate show cpu.profile.json");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(shown.out, f.out);
  const Finished simulated = windtunnel("simulate one.yaml");
  EXPECT_EQ(simulated.exit_code, 0) << simulated.err;
  expect_contains(simulated.out, "measured (calibration cpu");
  // What was calibrated is not written over.
  const std::string profile = read_file(folder / "work" / "cpu.profile.json");
  for (const char* over :
       {"simulate one.yaml --trace cpu.profile.json", "run one.yaml --trace cpu.profile.json",
        "run one.yaml --emulate cpu.profile.json --trace cpu.profile.json",
        "compare one.yaml one.yaml --trace cpu.profile.json"}) {
    const Finished refused = windtunnel(over);
    EXPECT_EQ(refused.exit_code, 2) << over;
    expect_contains(refused.err, "the trace would replace it");
    EXPECT_EQ(read_file(folder / "work" / "cpu.profile.json"), profile) << over;
  }
  const Finished not_one = windtunnel("calibrate show s.jsonl");
  EXPECT_EQ(not_one.exit_code, 2);
}

TEST_F(Calibrate, BadUsageSaysWhich) {
  write("one.yaml", kScenario);
  write("bf16.yaml",
        std::string(kScenario).replace(std::string(kScenario).find("fp32"), 4, "bf16"));
  write("two.yaml",
        std::string(kScenario).replace(std::string(kScenario).find("devices_per_node: 1"), 19,
                                       "devices_per_node: 2"));  // ranks are not started either
  const std::string all = read_file(write("all.txt", kScenario));
  const std::pair<const char*, const char*> cases[] = {
      {"calibrate", "for which scenarios?"},
      {"calibrate --for one.yaml", "-o cpu.profile.json"},
      {"calibrate --for one.yaml -o one.yaml", "would be written over"},
      {"calibrate --for one.yaml -o none/p.json", "none/p.json"},
      {"calibrate --for one.yaml -o p.json --budget 5", "has no unit"},
      {"calibrate --for one.yaml -o p.json --budget 2d", "from 1 s to 1 d"},
      {"calibrate --for one.yaml -o p.json --samples all.txt", "not a file of samples"},
      {"calibrate --for two.yaml -o p.json --samples all.txt", "not a file of samples"},
      {"calibrate --for one.yaml -o p.json --samples none/s", "none/s"},
      {"calibrate --for one.yaml -o p.json --samples ./p.json", "the file of the samples too"},
      {"calibrate --for bf16.yaml -o p.json", "the CPU device stores fp32"},
      {"calibrate --for $DATA/small.yaml -o p.json", "run on the CPU device"},
      {"calibrate show", "show PROFILE"},
      {"calibrate show none.json", "cannot read the file"},
      {"calibrate show one.yaml", "not JSON"},
  };
  for (const auto& [arguments, message] : cases) {
    const Finished f = windtunnel(arguments);
    EXPECT_EQ(f.exit_code, 2) << arguments;
    EXPECT_EQ(f.out, "") << arguments;
    expect_contains(f.err, message);
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "work" / "p.json"));
  EXPECT_EQ(read_file(folder / "work" / "all.txt"), all);
}

}  // namespace
}  // namespace windtunnel
