#include "runtime/launch/status_board.h"

#include <gtest/gtest.h>

#include <fstream>
#include <system_error>

#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

class StatusBoardTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::filesystem::path folder = make_temp_folder();
  std::string path = folder / "status";
};

TEST_F(StatusBoardTest, WhatARankWritesIsSeen) {
  const StatusBoard watching = StatusBoard::create(path, 3);
  EXPECT_EQ(watching.rank(2).state, RankState::not_started);
  EXPECT_EQ(watching.finished(), 0U);
  StatusBoard writing = StatusBoard::open(path, 3);
  writing.rank(2).state = RankState::running;
  writing.rank(2).progress.finished = 5;
  writing.rank(0).progress.finished = 2;
  EXPECT_EQ(watching.rank(2).state, RankState::running);
  EXPECT_EQ(watching.rank(1).state, RankState::not_started);
  EXPECT_EQ(watching.finished(), 7U);
}

TEST_F(StatusBoardTest, OutlivesItsWriters) {
  const StatusBoard watching = StatusBoard::create(path, 1);
  { StatusBoard::open(path, 1).rank(0).fail("no room"); }
  EXPECT_EQ(watching.rank(0).state, RankState::failed);
  EXPECT_STREQ(watching.rank(0).failure.data(), "no room");
}

TEST_F(StatusBoardTest, ALongCauseIsCut) {
  StatusBoard board = StatusBoard::create(path, 2);
  board.rank(0).fail(std::string(5000, 'x'));
  EXPECT_EQ(std::string(board.rank(0).failure.data()), std::string(1023, 'x'));
  EXPECT_EQ(board.rank(1).state, RankState::not_started);
}

TEST_F(StatusBoardTest, IsMadeOnceAndOpenedWhole) {
  EXPECT_THROW(StatusBoard::open(path, 1), std::system_error);
  StatusBoard::create(path, 1);
  EXPECT_THROW(StatusBoard::create(path, 1), std::system_error);
  EXPECT_THROW(StatusBoard::open(path, 2), std::system_error);  // a world of another size
  std::ofstream(folder / "empty");
  EXPECT_THROW(StatusBoard::open(folder / "empty", 1), std::system_error);
}

}  // namespace
}  // namespace windtunnel
