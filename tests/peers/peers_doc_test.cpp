// docs/peers.md has the tables of the tests: named differences, and what is not lowered.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/peers/named_differences.h"
#include "tests/peers/not_lowered.h"

namespace windtunnel::peers {
namespace {

std::string page() {
  std::ifstream in(WINDTUNNEL_SOURCE_DIR "/docs/peers.md");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(PeersPage, HasTheTableOfNamedDifferences) {
  std::string table = "| name | changes in a recording | why |\n|---|---|---|\n";
  for (const NamedDifference& d : named_differences())
    table += fmt::format("| `{}` | {} | {} |\n", d.name, d.changes, d.reason);
  EXPECT_NE(page().find("\n\n" + table + "\n"), std::string::npos) << "expected:\n" << table;
}

TEST(PeersPage, HasTheTableOfWhatIsNotLowered) {
  std::string table = "| recording | variant | why not |\n|---|---|---|\n";
  for (const NotLowered& row : not_lowered())
    table += fmt::format("| {} | {} | {} |\n", row.file, row.variant, row.why);
  EXPECT_NE(page().find("\n\n" + table + "\n"), std::string::npos) << "expected:\n" << table;
}

}  // namespace
}  // namespace windtunnel::peers
