// Are the top level of a JSON text and the places of its keys read, and bad text refused?

#include "models/architectures/json_object.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

/// "line:column: message" of the error, "none" without one.
std::string error_of(std::string_view text) {
  try {
    parse_json_object(text, "f.json");
  } catch (const InputError& error) {
    const Diagnostic& d = error.diagnostics.front();
    return std::to_string(d.position.line) + ":" + std::to_string(d.position.column) + ": " +
           d.message;
  }
  return "none";
}

TEST(JsonObject, ValuesAndPlaces) {
  const JsonObject object = parse_json_object(
      "{\n  \"a\": 7,\n  \"b\\\"\": \"x\", \"c\": [1, {\"a\": 2}, [3]],\n  \"d\": {\"k\": {}},\n"
      "  \"e\": -2.5, \"f\": true, \"g\": null\n}",
      "f.json");
  EXPECT_EQ(object.at("a").integer, 7);
  EXPECT_EQ(object.at("a").position.line, 2);
  EXPECT_EQ(object.at("a").position.column, 3);
  EXPECT_EQ(object.at("b\"").string, "x");
  EXPECT_EQ(object.at("c").kind, JsonKind::array);
  EXPECT_EQ(object.at("c").elements, 3U);
  EXPECT_EQ(object.at("c").position.column, 15);
  EXPECT_EQ(object.at("d").kind, JsonKind::object);
  EXPECT_EQ(object.at("d").elements, 1U);
  EXPECT_EQ(object.at("d").position.line, 4);
  EXPECT_DOUBLE_EQ(object.at("e").number, -2.5);
  EXPECT_EQ(object.at("e").source_line, "  \"e\": -2.5, \"f\": true, \"g\": null");
  EXPECT_TRUE(object.at("f").boolean);
  EXPECT_EQ(object.at("g").kind, JsonKind::null);
}

TEST(JsonObject, IntegersBeyond64BitsAreNumbers) {
  const JsonObject object =
      parse_json_object(R"({"a": 9223372036854775807, "b": 9223372036854775808})", "f.json");
  EXPECT_EQ(object.at("a").kind, JsonKind::integer);
  EXPECT_EQ(object.at("b").kind, JsonKind::number);
}

TEST(JsonObject, SyntaxErrorsNameTheirPlace) {
  EXPECT_EQ(error_of("{\n  \"a\": 1,\n  \"b\": }\n"), "3:8: this is not valid JSON here");
  EXPECT_EQ(error_of(""), "1:1: this is not valid JSON here");
  EXPECT_EQ(error_of("{\"a\": 1} {"), "1:10: this is not valid JSON here");
  EXPECT_EQ(error_of(std::string_view("{\"a\"\0: 1}", 9)), "1:5: this is not valid JSON here");
  EXPECT_EQ(error_of("{\"a\": \"\xff\"}"), "1:8: this is not valid JSON here");
  EXPECT_EQ(error_of("{\"a\": NaN}"), "1:7: this is not valid JSON here");
}

TEST(JsonObject, NumbersBeyondDouble) {
  EXPECT_NE(error_of("{\"a\": 1e999}").find("a number is too large"), std::string::npos);
}

TEST(JsonObject, DuplicateKeys) {
  EXPECT_EQ(error_of("{\"a\": 1,\n \"a\": 2}"), "2:2: a key is given twice");
  EXPECT_EQ(error_of("{\"a\": {\"b\": 1, \"b\": 2}}"), "none");  // not read, so not judged
}

TEST(JsonObject, NotAnObject) {
  EXPECT_EQ(error_of("[1]"), "1:1: the top level is not an object");
  EXPECT_EQ(error_of("7"), "1:1: the top level is not an object");
}

TEST(JsonObject, DepthIsBounded) {
  const std::string deep(20'000, '[');
  EXPECT_EQ(error_of("{\"a\": 1,\n \"b\": " + deep), "2:2: nested deeper than 100 levels");
}

TEST(JsonObject, KeysAreBounded) {
  std::string text = "{";
  for (std::size_t i = 0; i <= kMaxJsonKeys; ++i) {
    text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":0";
  }
  EXPECT_NE(error_of(text + "}").find("more than 10000 keys"), std::string::npos);
}

}  // namespace
}  // namespace windtunnel
