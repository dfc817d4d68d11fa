#pragma once
// A file that every rank maps: where each one stands, written by the ranks, read by who started
// them. It answers which rank failed, and in which op the others were, after all are gone.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/rank_progress.h"

namespace windtunnel {

enum class RankState : std::int32_t { not_started, starting, running, done, failed };

struct RankStatus {
  std::atomic<RankState> state{RankState::not_started};
  std::atomic<std::int32_t> pid{0};
  RankProgress progress;
  std::array<char, 1024> failure{};            // text, when failed
  std::array<std::atomic<char>, 128> doing{};  // words for who watches; empty: none
  std::atomic<double> seconds_left{0.0};       // of a budget

  void fail(const std::string& why);
  /// Cut to what there is room for. Read while it is written, letters may mix: it is for the eye.
  void say(const std::string& what, double left_s);
  std::string said() const;
};

class StatusBoard {
 public:
  /// Makes the file. Throws std::system_error, as `open` does.
  static StatusBoard create(const std::string& path, int ranks);
  static StatusBoard open(const std::string& path, int ranks);
  ~StatusBoard();
  StatusBoard(StatusBoard&& other) noexcept;
  StatusBoard& operator=(StatusBoard&&) = delete;

  int ranks() const { return ranks_; }
  RankStatus& rank(int r) { return board_[r]; }
  const RankStatus& rank(int r) const { return board_[r]; }
  /// Ops finished by all ranks: moves as long as anything does.
  std::uint64_t finished() const;

 private:
  StatusBoard(RankStatus* board, int ranks) : board_(board), ranks_(ranks) {}

  RankStatus* board_ = nullptr;
  int ranks_ = 0;
};

}  // namespace windtunnel
