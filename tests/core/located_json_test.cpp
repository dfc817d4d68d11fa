#include "core/located_json.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

using Kind = LocatedJson::Kind;

std::string problem_of(const std::string& text) {
  try {
    parse_located_json(text, "f.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "parsed";
}

TEST(LocatedJson, ValuesKnowTheirLine) {
  const LocatedJson root = parse_located_json("{\"a\": [1,\n 2.5],\n \"b\": \"x\"}", "f.json");
  ASSERT_EQ(root.kind, Kind::map);
  const LocatedJson* list = root.find("a");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->items.size(), 2U);
  EXPECT_EQ(list->items[0].line, 1);
  EXPECT_EQ(list->items[1].line, 2);
  EXPECT_EQ(list->items[1].number, 2.5);
  EXPECT_EQ(root.find("b")->text, "x");
  EXPECT_EQ(root.find("b")->line, 3);
  EXPECT_EQ(root.find("c"), nullptr);
}

TEST(LocatedJson, WholeNumbersAreExactTo2To53) {
  constexpr double kLargest = 9007199254740992.0;
  EXPECT_EQ(parse_located_json("9007199254740992", "f").number, kLargest);
  EXPECT_EQ(parse_located_json("9007199254740991", "f").number, kLargest - 1);
}

TEST(LocatedJson, ATextThatEndsTooEarlyIsToldFromOneThatIsWrong) {
  EXPECT_EQ(problem_of("{\"a\": [1, 2"), "f.json:1:11: error: not JSON: the file ends too early");
  EXPECT_EQ(problem_of(""), "f.json:1:0: error: not JSON: the file ends too early");
  EXPECT_EQ(problem_of("{\"a\": }"), "f.json:1:7: error: not JSON at '\"a\": }'");
}

TEST(LocatedJson, DepthKeysAndValuesAreBounded) {
  EXPECT_NE(problem_of(std::string(20'000, '[')).find("nested deeper than 32"), std::string::npos);
  std::string values = "[1";
  for (int i = 0; i < (1 << 20); ++i) values += ",1";
  EXPECT_NE(problem_of(values + "]").find("over 1,048,576 values"), std::string::npos);
  EXPECT_NE(problem_of("{\"a\":1,\"a\":2}").find("stands twice"), std::string::npos);
}

TEST(LocatedJson, MessagesEchoLittleOfALongText) {
  constexpr std::size_t kShort = 120;
  const std::string key = "\"" + std::string(100'000, 'k') + "\":1";
  EXPECT_LT(problem_of("{" + key + "," + key + "}").size(), kShort);
  EXPECT_LT(problem_of(std::string(100'000, '9')).size(), kShort);
  EXPECT_LT(problem_of(std::string(100'000, 'x')).size(), kShort);
}

TEST(LocatedJson, OnlyRegularFilesAreRead) {
  const std::filesystem::path folder = make_temp_folder();
  const auto problem = [](const std::string& path) -> std::string {
    try {
      read_located_json(path);
    } catch (const InputError& error) {
      return error.diagnostics.front().message;
    }
    return "read";
  };
  EXPECT_EQ(problem(folder.string()), "is a folder, not a file");
  EXPECT_EQ(problem("/dev/zero"), "is not a regular file");
  EXPECT_EQ(problem((folder / "none.json").string()), "cannot read the file");
  const std::string large = (folder / "large.json").string();
  std::ofstream(large) << "1";
  std::filesystem::resize_file(large, (std::uintmax_t{16} << 20) + 1);  // sparse: takes no disk
  EXPECT_EQ(problem(large), "file over 16 MiB");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace windtunnel
