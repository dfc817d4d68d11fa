#include "report/chrome_trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/diagnostics.h"
#include "report/memory_counter.h"
#include "tests/report/two_stage_trace.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class ChromeTrace : public testing::Test {
 protected:
  void SetUp() override { folder_ = make_temp_folder(); }
  void TearDown() override { fs::remove_all(folder_); }

  json written(const TracedProgram& traced) {
    const std::string path = (folder_ / "trace.json").string();
    write_chrome_trace(traced.program, traced.trace, path);
    std::ifstream file(path);
    return json::parse(file).at("traceEvents");
  }

  static std::vector<json> of_phase(const json& events, const std::string& phase) {
    std::vector<json> found;
    for (const json& event : events) {
      if (event.at("ph") == phase) found.push_back(event);
    }
    return found;
  }

  static json named(const std::vector<json>& events, const std::string& name) {
    for (const json& event : events) {
      if (event.at("name") == name) return event;
    }
    ADD_FAILURE() << "no event " << name;
    return {};
  }

  fs::path folder_;
};

TEST_F(ChromeTrace, OneProcessPerStageOneTrackPerStream) {
  std::map<int, std::string> processes;
  std::map<std::pair<int, std::string>, int> tracks;
  for (const json& event : of_phase(written(two_stage_trace()), "M")) {
    const std::string name = event.at("args").value("name", "");
    if (event.at("name") == "process_name") processes[event.at("pid")] = name;
    if (event.at("name") == "thread_name") tracks[{event.at("pid"), name}] = event.at("tid");
  }
  EXPECT_EQ(processes, (std::map<int, std::string>{{1, "stage 0"}, {2, "stage 1"}}));
  EXPECT_TRUE(tracks.contains({1, "compute"}));
  EXPECT_TRUE(tracks.contains({1, "pp_send_fwd"}));
  EXPECT_TRUE(tracks.contains({2, "pp_recv_fwd"}));
  EXPECT_FALSE(tracks.contains({1, "pp_recv_fwd"})) << "a stream without ops needs no track";
}

TEST_F(ChromeTrace, OpsHaveTimesInMicrosecondsAndArguments) {
  const auto ops = of_phase(written(two_stage_trace()), "X");
  const json gemm = named(ops, "gemm_fwd mlp");
  EXPECT_EQ(gemm.at("ts"), 2.0);
  EXPECT_EQ(gemm.at("dur"), 3.0);
  EXPECT_EQ(gemm.at("cat"), "forward");
  EXPECT_EQ(gemm.at("args"), json({{"segment", "forward \"0\""},
                                   {"chunk", 0},
                                   {"micro_batch", 0},
                                   {"layer", 3},
                                   {"bytes", 128}}));
  const json send = named(ops, "send to stage 1");
  EXPECT_EQ(send.at("dur"), 1.001) << "cut to nanoseconds";
  EXPECT_EQ(send.at("args").at("bytes"), 64);
  EXPECT_EQ(named(ops, "recv from stage 0").at("pid"), 2);
}

TEST_F(ChromeTrace, ACallIsOneBlockOverItsOps) {
  const auto ops = of_phase(written(two_stage_trace()), "X");
  const json call = named(ops, "forward_1 0");
  EXPECT_EQ(call.at("pid"), 2);
  EXPECT_EQ(call.at("ts"), 7.0);
  EXPECT_EQ(call.at("dur"), 3.0);
}

TEST_F(ChromeTrace, AnArrowLeadsFromEachSendToItsReceive) {
  const json events = written(two_stage_trace());
  const auto starts = of_phase(events, "s"), ends = of_phase(events, "f");
  ASSERT_EQ(starts.size(), 1U);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(starts[0].at("id"), ends[0].at("id"));
  EXPECT_EQ(starts[0].at("pid"), 1);
  EXPECT_EQ(starts[0].at("ts"), 5.0);
  EXPECT_EQ(ends[0].at("pid"), 2);
  EXPECT_EQ(ends[0].at("ts"), 6.0) << "inside the slice of the receive, so that it binds to it";
  EXPECT_EQ(ends[0].at("bp"), "e");
}

TEST_F(ChromeTrace, MemoryIsCountedWhenTheHostIssues) {
  const auto counters = of_phase(written(two_stage_trace()), "C");
  ASSERT_EQ(counters.size(), 2U) << "one for each stage: nothing changes between its ops";
  EXPECT_EQ(counters[0].at("name"), "memory");
  EXPECT_EQ(counters[0].at("pid"), 1);
  EXPECT_EQ(counters[0].at("ts"), 1.0);
  EXPECT_EQ(counters[0].at("args"),
            json({{"allocated", 1064}, {"weights", 1000}, {"activations", 64}}));
}

TEST_F(ChromeTrace, TransfersSideBySideGetTracksOfTheirOwn) {
  TracedProgram traced = two_stage_trace();
  TraceRecord second = traced.trace.records[1];
  second.end += 1'000'000;
  traced.trace.records.insert(traced.trace.records.begin() + 2, second);
  traced.trace.transfers = {{.send = 1, .recv = 3}};
  const auto ops = of_phase(written(traced), "X");
  std::vector<int> tracks;
  for (const json& op : ops) {
    if (op.at("name") == "send to stage 1") tracks.push_back(op.at("tid"));
  }
  ASSERT_EQ(tracks.size(), 2U);
  EXPECT_NE(tracks[0], tracks[1]);
}

TEST_F(ChromeTrace, LanesAreProcesses) {
  TracedProgram traced = two_stage_trace();
  traced.trace.records = {traced.trace.records[0], traced.trace.records[0]};
  traced.trace.records[1].lane = 1;
  traced.trace.transfers = {};
  std::vector<std::string> names;
  for (const json& event : of_phase(written(traced), "M")) {
    if (event.at("name") == "process_name") names.push_back(event.at("args").at("name"));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"stage 0, lane 0", "stage 0, lane 1"}));
}

TEST_F(ChromeTrace, AnEmptyTraceIsAValidFile) {
  TracedProgram traced = two_stage_trace();
  traced.trace = {};
  EXPECT_EQ(written(traced), json::array());
}

TEST_F(ChromeTrace, AFolderThatIsNotThereIsAnInputError) {
  const TracedProgram traced = two_stage_trace();
  const std::string path = (folder_ / "missing" / "trace.json").string();
  EXPECT_THROW(write_chrome_trace(traced.program, traced.trace, path), InputError);
}

TEST(MemoryCounter, FollowsAllocationsAndFreesInHostOrder) {
  const Program program = two_stage_trace().program;
  MemoryCounter counter(program, program.roles[0]);
  const auto activations = static_cast<std::size_t>(Category::activations);
  EXPECT_EQ(counter.bytes()[static_cast<std::size_t>(Category::weights)], 1000);
  EXPECT_EQ(counter.bytes()[activations], 0);
  counter.advance(0, 2);
  EXPECT_EQ(counter.bytes()[activations], 64);
  counter.advance(0, 2);
  EXPECT_EQ(counter.bytes()[activations], 64) << "ops run once";
  counter.advance(1, 0);
  EXPECT_EQ(counter.bytes()[activations], 0) << "the rest of the call has run";
}

}  // namespace
}  // namespace windtunnel
