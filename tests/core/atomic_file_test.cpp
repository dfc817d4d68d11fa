#include "core/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/diagnostics.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

/// Root is stopped by no permission: for its lifetime this process acts as an ordinary user.
class AsOrdinaryUser {
 public:
  AsOrdinaryUser() { became_nobody_ = ::geteuid() == 0 && ::seteuid(kNobody) == 0; }
  ~AsOrdinaryUser() {
    if (became_nobody_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  bool became_nobody_ = false;
};

class AtomicFileTest : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = make_temp_folder(); }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static int entries(const fs::path& folder) {
    return static_cast<int>(std::distance(fs::directory_iterator(folder), {}));
  }
  /// The message of the InputError that writing there gives; empty when it succeeds.
  static std::string error_of(const fs::path& path, std::string_view bytes) {
    try {
      write_file_atomically(path, bytes);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(AtomicFileTest, WritesANewFileAndLeavesNothingElse) {
  write_file_atomically(folder_ / "a.json", "{}\n");
  EXPECT_EQ(read(folder_ / "a.json"), "{}\n");
  EXPECT_EQ(entries(folder_), 1);
}

TEST_F(AtomicFileTest, ManyWritesMakeOneContent) {
  std::string expected;
  AtomicFile file(folder_ / "a.txt");
  const std::string line(1000, 'x');
  for (int i = 0; i < 5000; ++i) {  // 5 MB: several flushes of the buffer
    file.write(line);
    expected += line;
  }
  EXPECT_FALSE(fs::exists(folder_ / "a.txt"));
  file.commit();
  EXPECT_EQ(read(folder_ / "a.txt"), expected);
}

TEST_F(AtomicFileTest, WithoutCommitTheOldContentStays) {
  write_file_atomically(folder_ / "a.txt", "old");
  {
    AtomicFile file(folder_ / "a.txt");
    file.write(std::string(3 << 20, 'n'));
  }
  EXPECT_EQ(read(folder_ / "a.txt"), "old");
  EXPECT_EQ(entries(folder_), 1);
}

TEST_F(AtomicFileTest, ReplacesAndKeepsPermissions) {
  const fs::path path = folder_ / "a.txt";
  write_file_atomically(path, "old and longer");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  write_file_atomically(path, "new");
  EXPECT_EQ(read(path), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0640));
}

TEST_F(AtomicFileTest, ANewFileHasThePermissionsOfTheUmask) {
  const mode_t old = ::umask(027);
  write_file_atomically(folder_ / "a.txt", "x");
  ::umask(old);
  EXPECT_EQ(fs::status(folder_ / "a.txt").permissions(), fs::perms(0640));
}

TEST_F(AtomicFileTest, ASymbolicLinkIsFollowed) {
  write_file_atomically(folder_ / "real.txt", "old");
  fs::create_symlink("real.txt", folder_ / "link.txt");
  write_file_atomically(folder_ / "link.txt", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.txt"));
  EXPECT_EQ(read(folder_ / "real.txt"), "new");
}

TEST_F(AtomicFileTest, ALeftoverOfAKilledProcessIsNoObstacle) {
  const std::string leftover = ".windtunnel-" + std::to_string(::getpid()) + "-0.tmp";
  std::ofstream(folder_ / leftover) << "half";
  write_file_atomically(folder_ / "a.txt", "whole");
  EXPECT_EQ(read(folder_ / "a.txt"), "whole");
  EXPECT_EQ(read(folder_ / leftover), "half");
}

TEST_F(AtomicFileTest, ALinkToAFileThatIsNotThereYetIsFollowed) {
  fs::create_symlink("real.txt", folder_ / "link.txt");
  write_file_atomically(folder_ / "link.txt", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.txt"));
  EXPECT_EQ(read(folder_ / "real.txt"), "new");
}

TEST_F(AtomicFileTest, AKilledProcessLeavesNothing) {
  const int probe = ::open(folder_.c_str(), O_TMPFILE | O_WRONLY, 0666);
  if (probe < 0) GTEST_SKIP() << "this file system has no files without names";
  ::close(probe);
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(folder_ / "a.txt");
    file.write(std::string(std::size_t{3} << 20, 'x'));
    ::_exit(0);  // no destructor runs, as after a signal
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(entries(folder_), 0);
}

TEST_F(AtomicFileTest, APipeIsWrittenToAndStays) {
  const fs::path path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = read(path); });
  write_file_atomically(path, "through");
  reader.join();
  EXPECT_EQ(received, "through");
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST_F(AtomicFileTest, AFolderInTheWayIsNamed) {
  EXPECT_EQ(error_of(folder_, "x"), folder_.string() +
                                        ": error: cannot write it: Is a directory\n"
                                        "  hint: name a file inside that folder");
}

TEST_F(AtomicFileTest, AMissingFolderIsNamed) {
  const fs::path path = folder_ / "none" / "a.txt";
  EXPECT_EQ(error_of(path, "x"), path.string() +
                                     ": error: cannot write it: No such file or directory\n"
                                     "  hint: the folder must exist: create it first");
}

TEST_F(AtomicFileTest, AFileWhereAFolderShouldBeIsNamed) {
  write_file_atomically(folder_ / "a", "x");
  EXPECT_NE(error_of(folder_ / "a" / "b", "x").find("Not a directory"), std::string::npos);
}

TEST_F(AtomicFileTest, AnUnwritableFolderIsNamedAndUntouched) {
  write_file_atomically(folder_ / "a.txt", "old");
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  const auto [error, error_of_existing] = [this] {
    const AsOrdinaryUser user;
    return std::pair(error_of(folder_ / "b.txt", "new"), error_of(folder_ / "a.txt", "new"));
  }();
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_NE(error.find("Permission denied"), std::string::npos) << error;
  EXPECT_NE(error_of_existing.find("Permission denied"), std::string::npos) << error_of_existing;
  EXPECT_EQ(read(folder_ / "a.txt"), "old");
  EXPECT_EQ(entries(folder_), 1);
}

TEST_F(AtomicFileTest, AReadOnlyFileIsKept) {
  const fs::path path = folder_ / "a.txt";
  write_file_atomically(path, "old");
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  const std::string error = [&path] {
    const AsOrdinaryUser user;
    return error_of(path, "new");
  }();
  EXPECT_NE(error.find("Permission denied"), std::string::npos) << error;
  EXPECT_EQ(read(path), "old");
}

TEST_F(AtomicFileTest, AFullDiskLeavesTheOldContentAndNoTemporaryFile) {
  // A file system of 64 KiB, mounted where only this process sees it.
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
      ::mount("none", folder_.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "mounting a small file system takes root";
  }
  write_file_atomically(folder_ / "a.txt", "old");
  const std::string error = error_of(folder_ / "a.txt", std::string(200'000, 'n'));
  EXPECT_NE(error.find("No space left on device\n  hint: free some space"), std::string::npos)
      << error;
  EXPECT_EQ(read(folder_ / "a.txt"), "old");
  EXPECT_EQ(entries(folder_), 1);
  ASSERT_EQ(::umount(folder_.c_str()), 0);
}

TEST_F(AtomicFileTest, AFullDeviceIsAnError) {
  EXPECT_NE(error_of("/dev/full", "x").find("No space left on device"), std::string::npos);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

}  // namespace
}  // namespace windtunnel
