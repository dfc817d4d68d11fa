// docs/presets.md names every preset and every framework rule the tables hold.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "plan/frameworks/framework.h"
#include "plan/preset_defaults.h"

namespace windtunnel {
namespace {

std::string page() {
  std::ifstream in(std::string(WINDTUNNEL_SOURCE_DIR) + "/docs/presets.md");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(PresetsPage, NamesEveryPreset) {
  const std::string text = page();
  for (const PresetDefaults& row : preset_table()) {
    EXPECT_NE(text.find(row.name), std::string::npos) << row.name;
  }
}

TEST(PresetsPage, NamesEveryFrameworkRow) {
  const std::string text = page();
  for (const FrameworkRow& row : framework_table()) {
    EXPECT_NE(text.find(std::string("| ") + row.name + " |"), std::string::npos) << row.name;
  }
}

}  // namespace
}  // namespace windtunnel
