#include "core/located_json.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

namespace windtunnel {

namespace {

constexpr std::size_t kMaxFileBytes = 16U << 20U;
constexpr std::size_t kMaxDepth = 32;
constexpr int kNumberOverflow = 406;  // nlohmann's out_of_range.406
constexpr std::size_t kMaxMembers =
    1024;  // of one map; bounds the search for a key that stands twice
/// What 16 MiB of printed JSON (16 bytes a value and more) can hold; a value takes about 150 bytes
/// of memory, so a file of bare "1,1,1" does not take a gigabyte.
constexpr std::size_t kMaxValues = 1U << 20U;

/// Line and column of the character before the last one the parser took: it reads one ahead only
/// after numbers, so this is the end of the value it reports.
struct Place {
  int line = 1, column = 0;
  int last_line = 1, last_column = 0;

  void advance(char c) {
    last_line = line;
    last_column = column;
    if (c == '\n') {
      ++line;
      column = 0;
    } else {
      ++column;
    }
  }
};

/// A forward iterator over text that keeps `Place` up to date as it is read.
class PlacedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  PlacedIterator(const char* at, Place* place) : at_(at), place_(place) {}
  reference operator*() const { return *at_; }
  PlacedIterator& operator++() {
    place_->advance(*at_);
    ++at_;
    return *this;
  }
  PlacedIterator operator++(int) {
    PlacedIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const PlacedIterator& a, const PlacedIterator& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const PlacedIterator& a, const PlacedIterator& b) { return !(a == b); }

 private:
  const char* at_;
  Place* place_;
};

/// What a message echoes of a text of any length.
std::string excerpt(const std::string& text) {
  constexpr std::size_t kShown = 40;
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(const Place& place, std::string file, std::size_t file_bytes)
      : place_(place), file_(std::move(file)), file_bytes_(file_bytes) {}

  LocatedJson take() { return std::move(root_); }
  const std::vector<Diagnostic>& problems() const { return problems_; }

  bool null() override { return add({.kind = LocatedJson::Kind::null}); }
  bool boolean(bool value) override {
    return add({.kind = LocatedJson::Kind::boolean, .boolean = value});
  }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    if (!std::isfinite(value)) return fail("number out of range: " + excerpt(text));
    return number(value);
  }
  bool string(string_t& value) override {
    return add({.kind = LocatedJson::Kind::text, .text = value});
  }
  bool binary(binary_t&) override { return fail("binary values do not exist in JSON text"); }
  bool start_object(std::size_t) override { return open(LocatedJson::Kind::map); }
  bool key(string_t& name) override {
    if (stack_.back().members.size() >= kMaxMembers) return fail("over 1024 keys in one map");
    if (stack_.back().find(name) != nullptr)
      return fail("key '" + excerpt(name) + "' stands twice");
    keys_.back() = name;
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(LocatedJson::Kind::list); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& why) override {
    if (why.id == kNumberOverflow) return fail("number out of range");
    if (position > file_bytes_) return fail("not JSON: the file ends too early");
    return fail("not JSON" + (token.empty() ? "" : " at '" + excerpt(token) + "'"));
  }

 private:
  bool number(double value) { return add({.kind = LocatedJson::Kind::number, .number = value}); }

  bool counted() { return ++values_ <= kMaxValues || fail("over 1,048,576 values"); }

  bool open(LocatedJson::Kind kind) {
    if (stack_.size() >= kMaxDepth) {
      return fail("nested deeper than " + std::to_string(kMaxDepth));
    }
    if (!counted()) return false;
    LocatedJson node{.kind = kind};
    node.line = place_.line;
    node.column = place_.column;
    stack_.push_back(std::move(node));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    LocatedJson node = std::move(stack_.back());
    stack_.pop_back();
    keys_.pop_back();
    return attach(std::move(node));
  }

  bool add(LocatedJson node) {
    if (!counted()) return false;
    node.line = place_.last_line;
    node.column = place_.last_column;
    return attach(std::move(node));
  }

  bool attach(LocatedJson node) {
    if (stack_.empty()) {
      root_ = std::move(node);
    } else if (stack_.back().kind == LocatedJson::Kind::list) {
      stack_.back().items.push_back(std::move(node));
    } else {
      stack_.back().members.emplace_back(keys_.back(), std::move(node));
    }
    return true;
  }

  bool fail(std::string message) {
    problems_.push_back({.position = {.file = file_, .line = place_.line, .column = place_.column},
                         .message = std::move(message)});
    return false;
  }

  const Place& place_;
  std::string file_;
  std::size_t file_bytes_ = 0, values_ = 0;
  LocatedJson root_;
  std::vector<LocatedJson> stack_;
  std::vector<std::string> keys_;
  std::vector<Diagnostic> problems_;
};

}  // namespace

const LocatedJson* LocatedJson::find(const std::string& key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

LocatedJson parse_located_json(const std::string& text, const std::string& file) {
  if (text.size() > kMaxFileBytes) refuse_file(file, "file over 16 MiB");
  Place place;
  TreeBuilder builder(place, file, text.size());
  const char* begin = text.data();
  const bool parsed = nlohmann::json::sax_parse(
      PlacedIterator(begin, &place), PlacedIterator(begin + text.size(), &place), &builder);
  if (!parsed) {
    if (builder.problems().empty()) refuse_file(file, "not JSON");
    throw InputError(builder.problems());
  }
  return builder.take();
}

LocatedJson read_located_json(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) refuse_file(path, "is a folder, not a file");
  // Opening a pipe would wait for its writer.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    refuse_file(path, "is not a regular file");
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) refuse_file(path, "cannot read the file");
  const std::streamoff size = file.tellg();
  if (size < 0) refuse_file(path, "cannot read the file");
  if (static_cast<std::size_t>(size) > kMaxFileBytes) refuse_file(path, "file over 16 MiB");
  std::string text(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  file.read(text.data(), size);
  if (!file) refuse_file(path, "cannot read the file");
  return parse_located_json(text, path);
}

}  // namespace windtunnel
