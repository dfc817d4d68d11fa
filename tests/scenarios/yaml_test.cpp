// The tree: places, aliases, and the YAML that is refused.

#include <gtest/gtest.h>

#include "scenarios/yaml/parse.h"
#include "scenarios/yaml/utf8.h"

namespace windtunnel {
namespace {

YamlTree parsed(const std::string& text) {
  return parse_yaml(guarded_text("t.yaml", text));
}

std::string first_error(const std::string& text) {
  try {
    parsed(text);
  } catch (const InputError& error) {
    const Diagnostic& d = error.diagnostics.at(0);
    return std::to_string(d.position.line) + ":" + std::to_string(d.position.column) + " " +
           d.message;
  }
  return "";
}

TEST(Yaml, PlacesOfKeysAndValues) {
  const YamlTree tree = parsed("# note\na: 1\nb:\n  c: [x, 'y']\n");
  const YamlValue root(tree, tree.root);
  ASSERT_EQ(root.size(), 2U);
  EXPECT_EQ(root.key(1).position().line, 3);
  const YamlValue list = *root.value(1).find("c");
  EXPECT_EQ(list.item(1).position().line, 4);
  EXPECT_EQ(list.item(1).position().column, 10);
  EXPECT_EQ(list.item(1).text(), "y");
  EXPECT_TRUE(list.item(0).plain());
  EXPECT_FALSE(list.item(1).plain());
}

TEST(Yaml, AliasesShareTheNodeTheyStandFor) {
  const YamlTree tree = parsed("a: &x {k: v}\nb: *x\nc: [*x, *x]\n");
  const YamlValue root(tree, tree.root);
  EXPECT_EQ(root.value(0).index(), root.value(1).index());
  EXPECT_EQ(tree.nodes[root.value(0).index()].expanded, 3U);
  EXPECT_EQ(tree.nodes[root.value(2).index()].expanded, 7U);
}

TEST(Yaml, ByteOrderMarkAndCarriageReturns) {
  const YamlTree tree = parsed(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: 2\r\n");
  const YamlValue root(tree, tree.root);
  EXPECT_EQ(root.find("b")->position().line, 2);
  EXPECT_EQ(root.find("a")->position().column, 4);
  EXPECT_EQ(root.find("a")->text(), "1");
}

TEST(Yaml, Refused) {
  EXPECT_EQ(first_error("a: 1\nb: 2\na: 3\n"), "3:1 key \"a\" is given twice");
  EXPECT_EQ(first_error("a: 1\n---\nb: 2\n"), "2:1 a second document starts here");
  EXPECT_EQ(first_error("a: !!int 1\n"), "1:4 tags (!name) are not part of the scenario format");
  EXPECT_EQ(first_error("a: {<<: {b: 1}}\n"),
            "1:5 merge keys (<<) are not part of the scenario format");
  EXPECT_EQ(first_error("[a]: 1\n"), "1:1 a key is a word, not a mapping or a list");
  EXPECT_EQ(first_error("~: 1\n"), "1:1 a key is a word, not nothing");
  EXPECT_EQ(first_error(""), "0:0 the file is empty");
  EXPECT_EQ(first_error("a: [1, 2\n").substr(0, 4), "2:1 ");
}

TEST(Yaml, AMultiByteCharacterIsOneColumnOnScreen) {
  try {
    parsed("é: 1\nб: {а: 1, а: 2}\n");
    FAIL() << "a duplicate key was read";
  } catch (const InputError& error) {
    // The line is indented by two, then б, ':', ' ', '{', а, ':', ' ', '1', ',', ' ' come first.
    EXPECT_NE(std::string(error.what()).find("\n" + std::string(12, ' ') + "^"), std::string::npos)
        << error.what();
  }
}

TEST(Quotes, TextIsCutAndEscaped) {
  EXPECT_EQ(in_quotes("a\nb"), "\"a\\x0Ab\"");
  EXPECT_EQ(in_quotes("\xFF"), "\"\\xFF\"");
  EXPECT_EQ(in_quotes("é"), "\"é\"");
  EXPECT_LT(in_quotes(std::string(1000, 'x')).size(), 70U);
}

}  // namespace
}  // namespace windtunnel
