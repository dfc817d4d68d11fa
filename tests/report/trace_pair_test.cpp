#include "report/trace_pair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/diagnostics.h"
#include "report/trace_file.h"
#include "tests/report/two_stage_trace.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class TracePair : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temp_folder();
    file_ = path("one.json");
    write_chrome_trace(traced_.program, traced_.trace, file_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  TraceSource own() const {
    return [this](const TraceEventSink& sink) {
      chrome_trace_events(traced_.program, traced_.trace, sink);
    };
  }

  static TraceSource from(const std::string& file) {
    return [file](const TraceEventSink& sink) { read_trace_file(file, sink); };
  }

  static json events_of(const std::string& file) {
    std::ifstream in(file);
    return json::parse(in).at("traceEvents");
  }

  /// What is said about a file given as a trace.
  std::string problem_with(const std::string& content) const {
    std::ofstream(path("bad.json")) << content;
    try {
      write_trace_pair(own(), from(path("bad.json")), path("both.json"));
    } catch (const InputError& error) {
      EXPECT_FALSE(fs::exists(path("both.json"))) << "nothing torn";
      const Diagnostic& d = error.diagnostics.front();
      return std::to_string(d.position.line) + ": " + d.message;
    }
    return "written";
  }

  std::string content() const {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TracedProgram traced_ = two_stage_trace();
  fs::path folder_;
  std::string file_;
};

TEST_F(TracePair, BothSidesStandUnderTheirNamesAtTheirOwnTimes) {
  write_trace_pair(own(), from(file_), path("both.json"));
  const json one = events_of(file_), both = events_of(path("both.json"));
  ASSERT_EQ(both.size(), 2 * one.size());
  std::map<std::string, int> processes, order;
  for (const json& e : both) {
    if (e.at("name") == "process_name") processes[e["args"]["name"]] = e.at("pid");
    if (e.at("name") == "process_sort_index") {
      order[std::to_string(e.at("pid").get<int>())] = e["args"]["sort_index"];
    }
  }
  ASSERT_EQ(processes.size(), 4U);
  for (const char* name : {"A stage 0", "A stage 1", "B stage 0", "B stage 1"}) {
    EXPECT_TRUE(processes.contains(name)) << name;
  }
  std::vector<int> places;
  for (const auto& [name, pid] : processes) places.push_back(order[std::to_string(pid)]);
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end())) << "A's stages before B's";
  for (std::size_t i = 0; i < one.size(); ++i) {
    for (const json& copy : {both[i], both[one.size() + i]}) {
      EXPECT_EQ(copy.value("ts", -1.0), one[i].value("ts", -1.0));
      EXPECT_EQ(copy.value("dur", -1.0), one[i].value("dur", -1.0));
      EXPECT_EQ(copy.at("name"), one[i].at("name"));
    }
  }
}

TEST_F(TracePair, ProcessesAndArrowsOfTheSidesAreTwo) {
  write_trace_pair(own(), own(), path("both.json"));
  std::map<int, int> ends;
  std::set<int> pids;
  for (const json& e : events_of(path("both.json"))) {
    pids.insert(e.at("pid").get<int>());
    if (e.contains("id")) ++ends[e.at("id")];
  }
  EXPECT_EQ(pids.size(), 4U);
  ASSERT_EQ(ends.size(), 2U) << "one transfer a side";
  for (const auto& [id, count] : ends) EXPECT_EQ(count, 2) << id;
}

TEST_F(TracePair, WhatIsNoTraceIsRefusedWithItsLine) {
  const std::string good = content();
  EXPECT_EQ(problem_with(good), "written");
  fs::remove(path("both.json"));
  const std::string head = good.substr(0, good.find('\n') + 1);
  EXPECT_EQ(problem_with(""), "1: is no trace of a step");
  EXPECT_EQ(problem_with("{\"a\": 1}\n"), "1: is no trace of a step");
  EXPECT_EQ(problem_with(head + "{}\n]}\n"), "2: is no event of a trace");
  EXPECT_EQ(problem_with(head + "{\"pid\":\"x\"}\n]}\n"), "2: no number: pid");
  EXPECT_EQ(problem_with(head + "{\"pid\":-1}\n]}\n"), "2: out of range: pid");
  EXPECT_EQ(problem_with(head + "{\"pid\":1,\"args\":3}\n]}\n"), "2: is no event of a trace");
  EXPECT_EQ(problem_with(head + "{\"pid\":1,\"ph\":\"M\",\"name\":\"process_name\"}\n]}\n"),
            "2: a process without a name");
  EXPECT_EQ(problem_with(head + "{\"pid\":1},\n"), "2: the trace ends too early");
  EXPECT_EQ(problem_with(head + std::string(100'000, '[') + "\n]}\n"),
            "2: a line over 8 KiB: is no trace of a step");
}

TEST_F(TracePair, EveryCutOfATraceIsRefused) {
  const std::string good = content();
  for (std::size_t length = 0; length + 2 < good.size(); length += 37) {
    EXPECT_NE(problem_with(good.substr(0, length)), "written") << length;
  }
}

TEST_F(TracePair, APipeOrFolderIsNoTrace) {
  for (const std::string& file : {std::string("/dev/zero"), folder_.string(), path("none")}) {
    EXPECT_THROW(write_trace_pair(own(), from(file), path("both.json")), InputError) << file;
  }
}

}  // namespace
}  // namespace windtunnel
