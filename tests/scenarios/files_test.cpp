// Files: found in folders, missing, named by scenarios.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/scenarios/loading.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, removed at the end.
class Files : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = make_temp_folder(); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  std::string message_of(const std::string& path) const {
    try {
      load_scenarios(path);
    } catch (const InputError& error) {
      return error.diagnostics.at(0).message;
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(Files, FoldersAreSearchedInOrder) {
  const std::string b = write("sub/b.yml", "");
  const std::string a = write("a.yaml", "");
  write("notes.md", "");
  EXPECT_EQ(find_scenario_files(folder_.string()), (std::vector<std::string>{a, b}));
  EXPECT_EQ(find_scenario_files(a), std::vector<std::string>{a});
}

TEST_F(Files, NothingToRead) {
  EXPECT_THROW(find_scenario_files((folder_ / "none").string()), InputError);
  EXPECT_THROW(find_scenario_files(folder_.string()), InputError);
  EXPECT_EQ(message_of((folder_ / "none.yaml").string()), "no such file");
  EXPECT_EQ(message_of(folder_.string()), "is a folder, not a file");
  EXPECT_EQ(message_of("/dev/null"), "is not a regular file");
}

TEST_F(Files, LargeFilesAreRefusedUnread) {
  const std::string path = write("large.yaml", "");
  fs::resize_file(path, (std::uintmax_t{16} << 20) + 1);  // a hole: nothing on disk
  EXPECT_EQ(message_of(path), "the file has 16777217 bytes; more than 16 MiB is not read");
}

TEST_F(Files, TheFileNamesASingleScenario) {
  const std::string path = write("first.yaml", tiny_scenario("{}"));
  EXPECT_EQ(load_scenarios(path).scenarios.at(0).id, "first");
}

TEST_F(Files, PathsStartAtTheScenariosFolder) {
  write("shared/mine.yaml", "device: cpu\ndevices_per_node: 2\nnodes: 1\n");
  write("shared/config.json",
        R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64,
            "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2,
            "vocab_size": 256, "tie_word_embeddings": false, "hidden_act": "silu",
            "max_position_embeddings": 128})");
  const std::string path = write("runs/one.yaml",
                                 "model: ../shared\ncluster: ../shared/mine.yaml\nbatch: {global: "
                                 "2, micro: 1, sequence: 8}\n");
  const Scenario scenario = load_scenarios(path).scenarios.at(0);
  EXPECT_EQ(scenario.model.hidden, 64);
  EXPECT_EQ(scenario.model.kv_heads, 2);
  EXPECT_EQ(scenario.cluster.devices(), 2);
  EXPECT_EQ(fs::path(scenario.positions.at("cluster.device").file).filename(), "mine.yaml");
}

TEST_F(Files, ErrorsInANamedFileStandThere) {
  write("mine.yaml", "device: cpu\ndevices_per_node: 2\nnodse: 1\n");
  const std::string path = write(
      "one.yaml", "model: gpt2\ncluster: ./mine.yaml\nbatch: {global: 2, micro: 1, sequence: 8}\n");
  try {
    load_scenarios(path);
    FAIL() << "a misspelt key was read";
  } catch (const InputError& error) {
    const Diagnostic& last = error.diagnostics.back();
    EXPECT_EQ(fs::path(last.position.file).filename(), "mine.yaml");
    EXPECT_EQ(last.position.line, 3);
    EXPECT_EQ(last.source_line, "nodse: 1");
  }
}

TEST_F(Files, AProfileIsAFileOrNothingYet) {
  // A calibration for the scenario writes it.
  EXPECT_EQ(error_text(tiny_scenario("{}", "profile: ./none.json\n")), "");
  EXPECT_NE(error_text(tiny_scenario("{}", "profile: /dev/null\n")).find("there is no file"),
            std::string::npos);
}

}  // namespace
}  // namespace windtunnel
