#include "runtime/launch/private_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace windtunnel {
namespace {

TEST(PrivateFolder, IsGoneWithEverythingInIt) {
  std::string path;
  {
    const PrivateFolder folder, other;
    path = folder.path();
    EXPECT_NE(path, other.path());
    std::filesystem::create_directory(path + "/deeper");
    std::ofstream(path + "/deeper/file") << "text";
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace windtunnel
