#include "runtime/launch/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <system_error>

#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

class ChildProcessTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder); }

  ChildCommand shell(const std::string& script) const {
    return {.words = {"sh", "-c", script},
            .environment = {"WINDTUNNEL_TOLD=yes"},
            .output = folder / "output"};
  }
  static ChildEnd end_of(ChildProcess& child) {
    while (true) {
      if (const std::optional<ChildEnd> end = child.poll()) return *end;
      usleep(1000);
    }
  }
  std::string output() const {
    std::ifstream in(folder / "output");
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  std::filesystem::path folder = make_temp_folder();
};

TEST_F(ChildProcessTest, TellsStatusAndOutput) {
  ChildProcess child(shell("echo out $WINDTUNNEL_TOLD; echo err >&2; exit 3"));
  EXPECT_EQ(end_of(child).status, 3);
  EXPECT_EQ(child.poll()->signal, 0);
  EXPECT_EQ(output(), "out yes\nerr\n");
}

TEST_F(ChildProcessTest, TellsTheSignalThatEndedIt) {
  ChildProcess child(shell("kill -9 $$"));
  EXPECT_EQ(end_of(child).signal, SIGKILL);
  EXPECT_EQ(child.poll()->status, 128 + SIGKILL);
}

TEST_F(ChildProcessTest, EndsWhatItStarted) {
  pid_t group = 0;
  {
    ChildProcess child(shell("sleep 1000 & sleep 1000"));
    group = child.group();
    EXPECT_EQ(child.poll(), std::nullopt);
  }
  EXPECT_NE(kill(group, 0), 0);
}

TEST_F(ChildProcessTest, WhatCannotBeStartedIsAnError) {
  EXPECT_THROW(ChildProcess({.words = {"/nowhere/program"}, .output = folder / "output"}),
               std::system_error);
}

}  // namespace
}  // namespace windtunnel
