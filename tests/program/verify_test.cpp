// Does every check let sound programs pass, and find what is planted for it?

#include "program/verify.h"

#include <gtest/gtest.h>

#include <set>

#include "core/check.h"
#include "program/verify_checks.h"
#include "tests/program/planted.h"
#include "tests/program/small_programs.h"
#include "tests/program/two_stages.h"

namespace windtunnel {

void PrintTo(const Planted& planted, std::ostream* out) {
  *out << planted.name;
}

namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class Sound : public testing::TestWithParam<std::string> {};

TEST_P(Sound, HasNoViolations) {
  EXPECT_EQ(joined(find_violations(small_program(GetParam()))), "");
}

INSTANTIATE_TEST_SUITE_P(Verify, Sound, testing::ValuesIn(small_program_names()),
                         [](const auto& p) { return "Of_" + p.param; });

class Mistake : public testing::TestWithParam<Planted> {};

TEST_P(Mistake, IsFound) {
  const Planted& planted = GetParam();
  Program program = small_program(planted.program);
  planted.plant(program);
  const std::vector<std::string> violations = find_violations(program);
  bool found = false;
  for (const std::string& text : violations) {
    found |= text.rfind(std::string(planted.check) + ": ", 0) == 0 &&
             text.find(planted.says) != std::string::npos;
  }
  EXPECT_TRUE(found) << "expected " << planted.check << ": .. " << planted.says << " .., got\n"
                     << joined(violations);
}

INSTANTIATE_TEST_SUITE_P(Verify, Mistake, testing::ValuesIn(planted_mistakes()),
                         [](const auto& p) { return std::string(p.param.name); });

TEST(Verify, AProgramWrittenByHandIsSound) {
  EXPECT_EQ(joined(find_violations(two_stages())), "");
}

TEST(Verify, EveryCheckHasAMistakePlanted) {
  std::set<std::string> planted;
  for (const Planted& p : planted_mistakes()) planted.insert(p.check);
  for (const CheckRow& row : check_table()) EXPECT_EQ(planted.count(row.name), 1u) << row.name;
}

TEST(Verify, ThrowsWithTheViolations) {
  Program program = small_program("dp");
  EXPECT_NO_THROW(verify(program));
  program.roles[0].calls[1].first_micro_batch = false;
  try {
    verify(program);
    FAIL() << "the program is not sound";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("marked as the first"), std::string::npos)
        << error.what();
  }
}

TEST(Verify, CountsWhatItDoesNotShow) {
  Violations violations;
  for (int i = 0; i < 40; ++i) violations.add("violation " + std::to_string(i));
  const std::vector<std::string> texts = violations.take();
  ASSERT_EQ(texts.size(), 13u);
  EXPECT_EQ(texts[0], "violation 0");
  EXPECT_EQ(texts[12], "and 28 more of these");
}

}  // namespace
}  // namespace windtunnel
