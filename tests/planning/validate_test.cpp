#include "planning/validate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/check.h"
#include "core/diagnostics.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

namespace fs = std::filesystem;

const std::string kSmallSet =
    std::string(WINDTUNNEL_SOURCE_DIR) + "/tests/planning/data/small_set.yaml";

Prediction one_second(const Scenario&) {
  return {.step_time_s = 1.0, .step_time_interval_s = {0.5, 2.0}};
}

Prediction refuse_gpipe(const Scenario& scenario) {
  if (scenario.id == "fill-drain") {
    throw InputError({{.position = {}, .message = "no such thing", .hint = "", .source_line = ""},
                      {.position = {}, .message = "nor that", .hint = "", .source_line = ""}});
  }
  return one_second(scenario);
}

Prediction fail_gpipe(const Scenario& scenario) {
  if (scenario.id == "fill-drain") throw InternalError("a broken check");
  return one_second(scenario);
}

class Validate : public testing::Test {
 protected:
  void SetUp() override { folder_ = make_temp_folder(); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }

  fs::path folder_;
};

TEST_F(Validate, ASmallSetIsLoweredSimulatedAndScored) {
  const Validation v = validate({kSmallSet}, {.threads = 2, .predict = predict});
  ASSERT_EQ(v.rows.size(), 3U);
  EXPECT_EQ(v.rows[0].id, "pipeline");
  EXPECT_EQ(v.rows[0].source, "small");
  ASSERT_TRUE(v.rows[0].predicted) << v.rows[0].refused;
  // (m + p - 1)(F + B) = (4 + 2 - 1) * 3 s, for both schedules.
  EXPECT_DOUBLE_EQ(v.rows[0].predicted->step_time_s, 15.0);
  EXPECT_DOUBLE_EQ(v.rows[1].predicted->step_time_s, 15.0);
  EXPECT_DOUBLE_EQ(*v.rows[0].step_time_error, -0.25);
  EXPECT_FALSE(v.rows[1].step_time_error) << "an OOM has no step time";
  EXPECT_FALSE(v.rows[2].predicted);
  EXPECT_NE(v.rows[2].refused.find("muon"), std::string::npos) << v.rows[2].refused;
  EXPECT_EQ(v.summaries.overall.refused, 1);
  EXPECT_EQ(v.summaries.overall.oom.false_negative, 1);
  EXPECT_EQ(v.summaries.overall.ranking.groups, 1);
  EXPECT_FALSE(v.internal_error);
}

TEST_F(Validate, TheOrderIsThatOfTheInputWhateverTheThreads) {
  const std::string single = write("b.yaml",
                                   "id: alone\nmodel: gpt2\ncluster: {device: unit, nodes: 1, "
                                   "devices_per_node: 1, unit: {else: 1 s}}\n"
                                   "batch: {global: 1, micro: 1, sequence: 8}\n");
  for (const int threads : {1, 2, 5}) {
    const Validation v =
        validate({kSmallSet, single, kSmallSet}, {.threads = threads, .predict = one_second});
    std::string ids;
    for (const ValidationRow& row : v.rows) ids += row.id + " ";
    EXPECT_EQ(ids, "pipeline fill-drain not-built alone pipeline fill-drain not-built ");
    EXPECT_EQ(v.rows[3].source, "b.yaml") << "a file without a set is its own source";
  }
}

TEST_F(Validate, AFileThatDoesNotLoadIsARow) {
  const std::string broken = write("broken.yaml", "model: gpt2\nplan: {tpp: 8}\n");
  const Validation v = validate({folder_.string()}, {.threads = 2, .predict = one_second});
  ASSERT_EQ(v.rows.size(), 1U);
  EXPECT_EQ(v.rows[0].id, "broken.yaml");
  EXPECT_NE(v.rows[0].refused, "");
  EXPECT_EQ(v.summaries.overall.refused, 1);
  ASSERT_EQ(v.load_errors.size(), 1U);
  EXPECT_NE(v.load_errors[0].find("broken.yaml:2:"), std::string::npos) << v.load_errors[0];
}

TEST_F(Validate, ARefusedScenarioDoesNotStopTheOthers) {
  const Validation v = validate({kSmallSet}, {.threads = 2, .predict = refuse_gpipe});
  EXPECT_TRUE(v.rows[0].predicted);
  EXPECT_EQ(v.rows[1].refused, "no such thing; nor that");
  EXPECT_TRUE(v.rows[2].predicted);
}

TEST_F(Validate, ABugInOneRowIsSaidAndTheOthersStand) {
  const Validation v = validate({kSmallSet}, {.threads = 2, .predict = fail_gpipe});
  EXPECT_TRUE(v.internal_error);
  EXPECT_EQ(v.rows[1].refused, "internal error: a broken check");
  EXPECT_TRUE(v.rows[2].predicted);
}

TEST_F(Validate, ProgressCountsEveryRowOnce) {
  std::vector<std::size_t> seen;
  validate(
      {kSmallSet},
      {.threads = 2, .predict = one_second, .progress = [&](std::size_t done, std::size_t total) {
         EXPECT_EQ(total, 3U);
         seen.push_back(done);
       }});
  EXPECT_EQ(seen, (std::vector<std::size_t>{1, 2, 3}));
}

TEST_F(Validate, APathThatIsNotThereIsAnInputError) {
  EXPECT_THROW(validate({(folder_ / "missing").string()}, {.predict = one_second}), InputError);
}

}  // namespace
}  // namespace windtunnel
