#include "models/architectures/hf_fields.h"

#include <fmt/format.h>

#include <utility>

namespace windtunnel {
namespace {

constexpr std::int64_t kMaxCount = (std::int64_t{1} << 31) - 1;  // torch sizes are far below this
constexpr std::size_t kMaxQuoted = 60;

const char* name_of(JsonKind kind) {
  switch (kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return "a boolean";
    case JsonKind::integer:
      return "an integer";
    case JsonKind::number:
      return "a number that is no 64-bit integer";
    case JsonKind::string:
      return "a string";
    case JsonKind::array:
      return "a list";
    case JsonKind::object:
      return "an object";
  }
  return "?";
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, kMaxQuoted)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  while (text.size() > kMaxQuoted && (out.back() & 0x80) != 0) out.pop_back();
  return out + (text.size() > kMaxQuoted ? "...'" : "'");
}

HfFields::HfFields(JsonObject object, std::string file)
    : object_(std::move(object)), file_(std::move(file)) {}

const JsonValue* HfFields::find(std::string_view name) const {
  const auto it = object_.find(name);
  return it == object_.end() || it->second.kind == JsonKind::null ? nullptr : &it->second;
}

bool HfFields::has(std::string_view name) const {
  return find(name) != nullptr;
}

void HfFields::refuse(std::string_view name, const std::string& message, const std::string& hint) {
  const JsonValue* value = find(name);
  errors_.push_back({.position = value != nullptr ? value->position : SourcePosition{.file = file_},
                     .message = message,
                     .hint = hint,
                     .source_line = value != nullptr ? value->source_line : std::string{}});
}

std::int64_t HfFields::integer_from(const JsonValue& value, std::string_view name,
                                    std::int64_t low) {
  if (value.kind != JsonKind::integer) {
    refuse(name, fmt::format("`{}` is {}, not an integer", name, name_of(value.kind)));
    return 1;
  }
  if (value.integer < low || value.integer > kMaxCount) {
    refuse(name, fmt::format("`{}` is {}", name, value.integer),
           fmt::format("allowed are {} to {}", low, kMaxCount));
    return 1;
  }
  return value.integer;
}

std::int64_t HfFields::count(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const JsonValue* value = find(name)) return integer_from(*value, name, 1);
  }
  const std::string_view first = *names.begin();
  refuse(first, fmt::format("field `{}` is missing", first));
  return 1;
}

std::int64_t HfFields::count(std::string_view name) {
  return count({name});
}

std::int64_t HfFields::count_or(std::string_view name, std::int64_t otherwise) {
  const JsonValue* value = find(name);
  return value != nullptr ? integer_from(*value, name, 1) : otherwise;
}

std::int64_t HfFields::count_or_zero(std::string_view name, std::int64_t otherwise) {
  const JsonValue* value = find(name);
  return value != nullptr ? integer_from(*value, name, 0) : otherwise;
}

std::optional<std::int64_t> HfFields::optional_count(std::string_view name) {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  return integer_from(*value, name, 1);
}

bool HfFields::flag(std::string_view name, bool otherwise) {
  const JsonValue* value = find(name);
  if (value == nullptr) return otherwise;
  if (value->kind != JsonKind::boolean) {
    refuse(name, fmt::format("`{}` is {}, not true or false", name, name_of(value->kind)));
    return otherwise;
  }
  return value->boolean;
}

double HfFields::fraction(std::string_view name, double otherwise) {
  const JsonValue* value = find(name);
  if (value == nullptr) return otherwise;
  const bool is_number = value->kind == JsonKind::number || value->kind == JsonKind::integer;
  if (!is_number || !(value->number >= 0.0 && value->number <= 1.0)) {
    refuse(name, fmt::format("`{}` is not a number from 0 to 1", name));
    return otherwise;
  }
  return value->number;
}

std::string HfFields::text(std::string_view name, const std::string& otherwise) {
  const JsonValue* value = find(name);
  if (value == nullptr) return otherwise;
  if (value->kind != JsonKind::string) {
    refuse(name, fmt::format("`{}` is {}, not a string", name, name_of(value->kind)));
    return otherwise;
  }
  return value->string;
}

std::size_t HfFields::elements(std::string_view name) const {
  const JsonValue* value = find(name);
  return value != nullptr ? value->elements : 0;
}

}  // namespace windtunnel
