#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/json_text.h"
#include "report/step_json.h"
#include "tests/report/sample_report.h"

namespace windtunnel {
namespace {

using nlohmann::json;

TEST(SimulateJson, HasTheKeysScriptsRelyOn) {
  const json j = json::parse(step_json(sample_report()));
  EXPECT_EQ(j.at("step_time_s"), 13.75);
  EXPECT_EQ(j.at("step_time_interval_s"), json({13.1, 14.4}));
  EXPECT_EQ(j.at("tokens_per_s"), 9532.5);
  EXPECT_EQ(j.at("tokens_per_s_per_device"), 148.9);
  EXPECT_EQ(j.at("mfu"), 0.518);
  EXPECT_EQ(j.at("hfu"), 0.521);
  EXPECT_EQ(j.at("flop_convention"), "megatron_unhalved");
  EXPECT_EQ(j.at("bottleneck"), "compute");
  const json& breakdown = j.at("breakdown_s");
  EXPECT_EQ(breakdown.at("compute"), 10.0);
  EXPECT_EQ(breakdown.at("exposed_comm"),
            json({{"tp", 2.0}, {"pp", 0.25}, {"dp", 0.5}, {"cp", 0.0}, {"ep", 0.0}}));
  EXPECT_EQ(breakdown.at("bubble"), 0.75);
  EXPECT_EQ(breakdown.at("host"), 0.25);
  EXPECT_EQ(breakdown.at("input"), 0.0);
  EXPECT_EQ(j.at("origins").size(), 1U);
  EXPECT_EQ(j.at("assumptions").size(), 1U);
  const json& memory = j.at("memory");
  EXPECT_EQ(memory.at("verdict"), "fits");
  EXPECT_EQ(memory.at("oom_probability"), 0.01);
  EXPECT_EQ(memory.at("capacity_bytes"), std::int64_t{79} << 30);
  const json& stage = memory.at("stages").at(1);
  EXPECT_EQ(stage.at("stage"), 1);
  EXPECT_EQ(stage.at("peak_allocated_bytes"), std::int64_t{52} << 30);
  EXPECT_EQ(stage.at("peak_reserved_bytes"), std::int64_t{54} << 30);
  EXPECT_EQ(stage.at("peak_device_bytes"), std::int64_t{55} << 30);
  EXPECT_EQ(stage.at("by_category").at("weights"), std::int64_t{5} << 30);
  EXPECT_EQ(stage.at("largest").size(), 2U);  // two tensors of one name
}

TEST(SimulateJson, SaysWhatItIsAndWhatARankCommunicates) {
  StepReport report = sample_report();
  json j = json::parse(step_json(report));
  EXPECT_EQ(j.at("kind"), "simulation");
  EXPECT_TRUE(j.at("step_time_spread_s").is_null());
  EXPECT_EQ(j.at("traffic").at(0), json({{"stage", 0},
                                         {"kind", "all_gather"},
                                         {"communicator", "tp"},
                                         {"count", 192},
                                         {"elements", 4'831'838'208},
                                         {"bytes", 9'663'676'416}}));
  report.kind = StepKind::run;
  report.step_time_spread_s = {13.5, 14.0};
  j = json::parse(step_json(report));
  EXPECT_EQ(j.at("kind"), "run");
  EXPECT_EQ(j.at("step_time_spread_s"), json({13.5, 14.0}));
}

TEST(SimulateJson, SaysWhatIsSlowAndHowStepsSpread) {
  StepReport report = sample_report();
  json j = json::parse(step_json(report));
  EXPECT_TRUE(j.at("step_time_percentiles_s").is_null());
  EXPECT_TRUE(j.at("step_time_sound_s").is_null());
  EXPECT_EQ(j.at("degraded"), json::array());
  report.step_time_percentiles_s = {.p50 = 13.8, .p90 = 14.0, .p99 = 14.5, .steps = 201};
  report.degraded = {"rank 3 computes 1.5 times as long"};
  report.step_time_sound_s = 11.0;
  j = json::parse(step_json(report));
  EXPECT_EQ(j.at("step_time_percentiles_s"), json({{"p50", 13.8}, {"p90", 14.0}, {"p99", 14.5}}));
  EXPECT_EQ(j.at("step_time_sound_s"), 11.0);
  EXPECT_EQ(j.at("degraded"), json({"rank 3 computes 1.5 times as long"}));
}

TEST(SimulateJson, TheBreakdownSumsToTheStepTime) {
  const json b = json::parse(step_json(sample_report())).at("breakdown_s");
  double sum = 0.0;
  for (const char* key : {"compute", "bubble", "straggler", "host", "input"}) {
    sum += b.at(key).get<double>();
  }
  for (const auto& [group, seconds] : b.at("exposed_comm").items()) sum += seconds.get<double>();
  EXPECT_DOUBLE_EQ(sum, 13.75);
}

TEST(SimulateJson, Golden) {
  std::ifstream file(std::string(WINDTUNNEL_SOURCE_DIR) + "/tests/report/step_json.golden");
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(step_json(sample_report()) + "\n", golden.str());
}

TEST(SimulateJson, VerdictsHaveTheirWords) {
  StepReport report = sample_report();
  report.memory.verdict = Verdict::tight;
  EXPECT_EQ(json::parse(step_json(report)).at("memory").at("verdict"), "tight");
  report.memory.verdict = Verdict::oom;
  EXPECT_EQ(json::parse(step_json(report)).at("memory").at("verdict"), "oom");
}

TEST(SimulateJson, TextThatIsNoUtf8StillMakesADocument) {
  StepReport report = sample_report();
  report.name = "caf\xe9";
  EXPECT_EQ(json::parse(step_json(report)).at("name"), "caf\uFFFD");
}

TEST(CheckJson, HasMemoryAndNoErrors) {
  const json j = json::parse(check_json({.report = sample_report(), .errors = {}}));
  EXPECT_EQ(j.at("memory").at("verdict"), "fits");
  EXPECT_EQ(j.at("errors"), json::array());
}

TEST(CheckJson, WithErrorsThereIsNoMemory) {
  const json j =
      json::parse(check_json({.report = {.id = "x", .name = ""},
                              .errors = {{.position = {.file = "a.yaml", .line = 3, .column = 7},
                                          .message = "unknown key",
                                          .hint = "did you mean `tp`?"}}}));
  EXPECT_TRUE(j.at("memory").is_null());
  EXPECT_EQ(j.at("errors"), json::array({{{"file", "a.yaml"},
                                          {"line", 3},
                                          {"column", 7},
                                          {"message", "unknown key"},
                                          {"hint", "did you mean `tp`?"}}}));
}

TEST(JsonText, StringsAreEscaped) {
  EXPECT_EQ(json_string("a\"b\\\n"), R"("a\"b\\\n")");
}

TEST(JsonText, ArraysHoldWholeDocuments) {
  EXPECT_EQ(json_array({}), "[]");
  EXPECT_EQ(json::parse(json_array({"{\"a\": 1}", "2"})), json({{{"a", 1}}, 2}));
}

}  // namespace
}  // namespace windtunnel
