// Each planted mistake is caught by the check its row names; the list is that of docs/proof.md.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/proof/mutations.h"

namespace windtunnel::proof {

void PrintTo(const Mutation& row, std::ostream* out) {
  *out << row.name;
}

namespace {

class Planted : public testing::TestWithParam<Mutation> {};

std::string name_of_case(const testing::TestParamInfo<Mutation>& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

TEST_P(Planted, IsCaught) {
  const Mutation& mutation = GetParam();
  const std::vector<Check> checks = caught(mutation);
  std::string all;
  for (const Check check : checks) all += std::string(" ") + name_of(check);
  std::cout << mutation.name << ":" << all << "\n";
  EXPECT_NE(std::find(checks.begin(), checks.end(), mutation.caught_by), checks.end())
      << "expected " << name_of(mutation.caught_by) << ", noticed by:" << all;
}

INSTANTIATE_TEST_SUITE_P(Mutation, Planted,
                         testing::ValuesIn(mutations().begin(), mutations().end()), name_of_case);

TEST(Mutations, AreListedInTheDocumentation) {
  std::ifstream file(std::string(WINDTUNNEL_SOURCE_DIR) + "/docs/proof.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const Mutation& m : mutations()) {
    const std::string line =
        std::string("| ") + m.name + " | " + m.plan + " | " + name_of(m.caught_by) + " |";
    EXPECT_NE(text.str().find(line), std::string::npos) << "docs/proof.md lacks: " << line;
  }
}

}  // namespace
}  // namespace windtunnel::proof
