// The fuzzer's seeds and findings, replayed as a test.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace windtunnel {
namespace {

namespace fs = std::filesystem;

class Replay : public ::testing::TestWithParam<const char*> {};

TEST_P(Replay, EveryFile) {
  int files = 0;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(WINDTUNNEL_SOURCE_DIR) / GetParam())) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
    SCOPED_TRACE(entry.path().string());
    EXPECT_NO_THROW(
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
    ++files;
  }
  EXPECT_GT(files, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Replay,
                         ::testing::Values("scenarios/training", "tests/bad_input",
                                           "tests/scenarios/data", "tests/fuzz/seeds"));

}  // namespace
}  // namespace windtunnel
