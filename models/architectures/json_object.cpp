#include "models/architectures/json_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace windtunnel {
namespace {

constexpr std::size_t kMaxSourceLine = 200;  // longer lines are not echoed

struct Place {
  SourcePosition position;
  std::string source_line;
};

/// Finds lines and columns of ascending offsets in one pass over the text.
class LineCursor {
 public:
  LineCursor(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  /// `offset` is not less than the one asked before.
  Place place_at(std::size_t offset) {
    offset = std::min(offset, text_.size());
    for (; seen_ < offset; ++seen_) {
      if (text_[seen_] != '\n') continue;
      ++line_;
      begin_ = seen_ + 1;
    }
    const std::string_view start = text_.substr(begin_, kMaxSourceLine + 1);
    const std::size_t length = std::min(start.find('\n'), start.size());
    return {
        .position = {.file = file_, .line = line_, .column = static_cast<int>(offset - begin_) + 1},
        .source_line = std::string(length <= kMaxSourceLine ? start.substr(0, length) : "")};
  }

 private:
  std::string_view text_;
  const std::string& file_;
  std::size_t seen_ = 0, begin_ = 0;
  int line_ = 1;
};

[[noreturn]] void fail(const Place& place, const std::string& message, const std::string& hint) {
  throw InputError({Diagnostic{.position = place.position,
                               .message = message,
                               .hint = hint,
                               .source_line = place.source_line}});
}

/// Offsets of the quotes that open the keys of the outermost object, in order. `text` is valid
/// JSON, up to the point where the caller stopped.
std::vector<std::size_t> key_offsets(std::string_view text) {
  std::vector<std::size_t> offsets;
  int depth = 0;
  bool key_next = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') {
      key_next = ++depth == 1;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',') {
      key_next = depth == 1;
    } else if (c == '"') {
      if (key_next) offsets.push_back(i);
      key_next = false;
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
    }
  }
  return offsets;
}

/// Keeps the top-level values; stops at the first thing refused. The names of the methods and their
/// results (false: stop) are nlohmann::json_sax's.
class TopLevel {
 public:
  using Json = nlohmann::json;

  struct Refusal {
    bool any = false;
    std::size_t offset = 0;     // known for syntax errors
    std::size_t key = 0;        // else: the index of the key
    std::string message, hint;  // empty hint: none
  };

  bool null() { return scalar({.kind = JsonKind::null}); }
  bool boolean(bool value) { return scalar({.kind = JsonKind::boolean, .boolean = value}); }
  bool number_integer(std::int64_t value) {
    return scalar(
        {.kind = JsonKind::integer, .integer = value, .number = static_cast<double>(value)});
  }
  bool number_unsigned(std::uint64_t value) {
    if (value <= static_cast<std::uint64_t>(INT64_MAX)) {
      return number_integer(static_cast<std::int64_t>(value));
    }
    return number_float(static_cast<double>(value), {});
  }
  bool number_float(double value, const std::string&) {
    return scalar({.kind = JsonKind::number, .number = value});
  }
  bool string(std::string& value) {
    return scalar({.kind = JsonKind::string, .string = std::move(value)});
  }
  bool binary(Json::binary_t&) { return false; }  // not in text
  bool start_object(std::size_t) { return open(JsonKind::object); }
  bool start_array(std::size_t) { return open(JsonKind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (depth_ != 1) return true;
    if (keys_.size() == kMaxJsonKeys) {
      return refuse(fmt::format("more than {} keys", kMaxJsonKeys), "is this a config.json?");
    }
    keys_.push_back(name);
    if (!values_.try_emplace(name).second) {
      return refuse("a key is given twice", "keep one of them");
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) {
    const bool range = error.id == 406;  // out_of_range: a number beyond double
    refusal_ = {.any = true,
                .offset = position == 0 ? 0 : position - 1,
                .key = 0,
                .message = range ? "a number is too large" : "this is not valid JSON here",
                .hint = {}};
    syntax_ = true;
    return false;
  }

  const Refusal& refusal() const { return refusal_; }
  bool syntax() const { return syntax_; }
  const std::vector<std::string>& keys() const { return keys_; }
  JsonObject take_values() { return std::move(values_); }

 private:
  bool refuse(const std::string& message, const std::string& hint) {
    refusal_ = {.any = true,
                .offset = 0,
                .key = keys_.empty() ? 0 : keys_.size() - 1,
                .message = message,
                .hint = hint};
    return false;
  }

  bool scalar(JsonValue value) {
    if (depth_ == 0) return refuse("the top level is not an object", "a config.json begins with {");
    if (depth_ == 1) values_[keys_.back()] = std::move(value);
    if (depth_ == 2) ++values_[keys_.back()].elements;
    return true;
  }

  bool open(JsonKind kind) {
    if (depth_ == 0 && kind != JsonKind::object) {
      return refuse("the top level is not an object", "a config.json begins with {");
    }
    if (depth_ == 1) values_[keys_.back()].kind = kind;
    if (depth_ == 2) ++values_[keys_.back()].elements;
    if (++depth_ > kMaxJsonDepth) {
      return refuse(fmt::format("nested deeper than {} levels", kMaxJsonDepth), {});
    }
    return true;
  }

  bool close() {
    --depth_;
    return true;
  }

  JsonObject values_;
  std::vector<std::string> keys_;
  Refusal refusal_;
  bool syntax_ = false;
  int depth_ = 0;
};

}  // namespace

JsonObject parse_json_object(std::string_view text, const std::string& file) {
  TopLevel top;
  nlohmann::json::sax_parse(text.begin(), text.end(), &top);
  const TopLevel::Refusal& refusal = top.refusal();
  LineCursor cursor(text, file);
  if (refusal.any && top.syntax()) {
    fail(cursor.place_at(refusal.offset), refusal.message, refusal.hint);
  }
  const std::vector<std::size_t> offsets = key_offsets(text);
  if (refusal.any) {
    const std::size_t offset = refusal.key < offsets.size() ? offsets[refusal.key] : 0;
    fail(cursor.place_at(offset), refusal.message, refusal.hint);
  }
  JsonObject values = top.take_values();
  for (std::size_t i = 0; i < top.keys().size(); ++i) {
    Place place = cursor.place_at(offsets.at(i));
    JsonValue& value = values.at(top.keys()[i]);
    value.position = std::move(place.position);
    value.source_line = std::move(place.source_line);
  }
  return values;
}

JsonObject load_json_object(const std::string& path) {
  const Place whole{.position = {.file = path}, .source_line = {}};
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    fail(whole, "there is no such file", "the path is relative to the working folder");
  }
  if (std::filesystem::is_directory(status)) {
    fail(whole, "this is a folder", "name the config.json inside it");
  }
  if (!std::filesystem::is_regular_file(status)) fail(whole, "this is not a regular file", {});
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) fail(whole, "cannot read the size: " + error.message(), {});
  if (size > kMaxJsonBytes) {
    fail(whole,
         fmt::format("{} bytes, more than the {} MiB a config may have", size, kMaxJsonBytes >> 20),
         {});
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (!in && !in.eof()) fail(whole, "cannot read the file", {});
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parse_json_object(text, path);
}

}  // namespace windtunnel
