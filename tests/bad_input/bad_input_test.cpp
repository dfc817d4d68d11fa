// Every wrong scenario gets its error text: place, line, caret and hint, word for word.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "scenarios/loader.h"

namespace windtunnel {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(WINDTUNNEL_SOURCE_DIR) / "tests" / "bad_input";

std::vector<std::string> fixture_names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// What the loader says, with the folder of this checkout left out.
std::string error_text(const fs::path& path) {
  try {
    load_scenarios(path.string());
  } catch (const InputError& error) {
    std::string text = std::string(error.what()) + "\n";
    const std::string folder = kFolder.string() + "/";
    for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) {
      text.erase(at, folder.size());
    }
    return text;
  }
  return "loaded without an error\n";
}

class BadInput : public ::testing::TestWithParam<std::string> {};

TEST_P(BadInput, HasItsText) {
  const std::string got = error_text(kFolder / (GetParam() + ".yaml"));
  EXPECT_EQ(content(kFolder / (GetParam() + ".txt")), got);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, BadInput, ::testing::ValuesIn(fixture_names()),
                         [](const auto& fixture) { return fixture.param; });

TEST(BadInputFolder, HasItsFixtures) {
  constexpr std::size_t kFewest = 25;
  EXPECT_GE(fixture_names().size(), kFewest);
}

}  // namespace
}  // namespace windtunnel
