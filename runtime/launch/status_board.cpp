#include "runtime/launch/status_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

namespace windtunnel {

namespace {

[[noreturn]] void fail_with(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

RankStatus* map_board(const std::string& path, int flags, std::size_t bytes) {
  const int file = ::open(path.c_str(), flags, 0600);
  if (file < 0) fail_with(path);
  const auto size = static_cast<off_t>(bytes);
  if ((flags & O_CREAT) != 0 && ftruncate(file, size) != 0) {
    close(file);
    fail_with(path);
  }
  // Beyond the file's end memory is mapped and cannot be touched.
  struct stat found {};
  if (fstat(file, &found) != 0 || found.st_size != size) {
    close(file);
    errno = EINVAL;
    fail_with(path + " is no board of this many ranks");
  }
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (at == MAP_FAILED) fail_with(path);
  return static_cast<RankStatus*>(at);
}

std::size_t board_bytes(int ranks) {
  return sizeof(RankStatus) * static_cast<std::size_t>(ranks);
}

}  // namespace

void RankStatus::fail(const std::string& why) {
  const std::size_t n = std::min(why.size(), failure.size() - 1);
  std::copy_n(why.begin(), n, failure.begin());
  failure[n] = '\0';
  state = RankState::failed;
}

void RankStatus::say(const std::string& what, double left_s) {
  seconds_left = left_s;
  for (std::size_t i = 0; i < doing.size(); ++i) {
    doing[i].store(i < what.size() && i + 1 < doing.size() ? what[i] : '\0',
                   std::memory_order_relaxed);
  }
}

std::string RankStatus::said() const {
  std::string text;
  for (const std::atomic<char>& letter : doing) {
    const char c = letter.load(std::memory_order_relaxed);
    if (c == '\0') break;
    text += c;
  }
  return text;
}

StatusBoard StatusBoard::create(const std::string& path, int ranks) {
  RankStatus* board = map_board(path, O_RDWR | O_CREAT | O_EXCL, board_bytes(ranks));
  for (int r = 0; r < ranks; ++r) new (board + r) RankStatus();
  return {board, ranks};
}

StatusBoard StatusBoard::open(const std::string& path, int ranks) {
  return {map_board(path, O_RDWR, board_bytes(ranks)), ranks};
}

StatusBoard::StatusBoard(StatusBoard&& other) noexcept
    : board_(std::exchange(other.board_, nullptr)), ranks_(other.ranks_) {}

StatusBoard::~StatusBoard() {
  if (board_ != nullptr) munmap(board_, board_bytes(ranks_));
}

std::uint64_t StatusBoard::finished() const {
  std::uint64_t sum = 0;
  for (int r = 0; r < ranks_; ++r) sum += board_[r].progress.finished;
  return sum;
}

}  // namespace windtunnel
