#include "report/step_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/step_reader.h"

namespace windtunnel {

namespace {

/// Thirty years: no step, and far from where sums of doubles overflow.
constexpr double kMostSeconds = 1e9;
/// Rates and shares: above any device, far from overflow.
constexpr double kMostNumber = 1e30;
constexpr double kMostWhole = 0x1p52;
/// Ten times the longest line of a report's head; messages and tables echo texts.
constexpr std::size_t kMostTextBytes = 4096;

const char* word_of(LocatedJson::Kind kind) {
  switch (kind) {
    case LocatedJson::Kind::null:
      return "null";
    case LocatedJson::Kind::boolean:
      return "true or false";
    case LocatedJson::Kind::number:
      return "a number";
    case LocatedJson::Kind::text:
      return "text";
    case LocatedJson::Kind::list:
      return "a list";
    case LocatedJson::Kind::map:
      return "a map";
  }
  return "?";
}

}  // namespace

void StepFields::refuse(const LocatedJson& at, std::string message, std::string hint) const {
  throw InputError({{.position = {.file = file_, .line = at.line, .column = at.column},
                     .message = std::move(message),
                     .hint = std::move(hint),
                     .source_line = ""}});
}

const LocatedJson* StepFields::optional(const LocatedJson& map, const char* key) const {
  const LocatedJson* found = map.find(key);
  return found && found->kind != LocatedJson::Kind::null ? found : nullptr;
}

const LocatedJson& StepFields::member(const LocatedJson& map, const char* key,
                                      LocatedJson::Kind kind) const {
  const LocatedJson* found = map.find(key);
  if (!found) {
    refuse(map, fmt::format("is no step: key '{}' is missing", key),
           "such a file comes from: windtunnel simulate S.yaml --json");
  }
  if (found->kind != kind) {
    refuse(*found,
           fmt::format("'{}' is {}, and should be {}", key, word_of(found->kind), word_of(kind)));
  }
  return *found;
}

double StepFields::seconds(const LocatedJson& value, std::string_view key) const {
  if (value.kind != LocatedJson::Kind::number || std::abs(value.number) > kMostSeconds) {
    refuse(value, fmt::format("'{}' is no time of a step", key), "seconds, at most 1e9");
  }
  return value.number;
}

std::array<double, 2> StepFields::range(const LocatedJson& value, std::string_view key) const {
  if (value.kind != LocatedJson::Kind::list || value.items.size() != 2) {
    refuse(value, fmt::format("'{}' is no range", key), "a list of two times: [shortest, longest]");
  }
  const std::array<double, 2> ends{seconds(value.items[0], key), seconds(value.items[1], key)};
  if (ends[0] > ends[1]) refuse(value, fmt::format("'{}' ends before it begins", key));
  return ends;
}

double StepFields::number(const LocatedJson& map, const char* key) const {
  const LocatedJson* found = optional(map, key);
  if (!found) return 0.0;
  if (found->kind != LocatedJson::Kind::number || std::abs(found->number) > kMostNumber) {
    refuse(*found, fmt::format("'{}' is no number up to 1e30", key));
  }
  return found->number;
}

std::int64_t StepFields::whole_value(const LocatedJson& value, std::string_view key) const {
  const double number = value.number;
  if (value.kind != LocatedJson::Kind::number || number < 0 || number > kMostWhole ||
      number != std::floor(number)) {
    refuse(value, fmt::format("'{}' is no whole number from 0 to 2^52", key));
  }
  return static_cast<std::int64_t>(number);
}

std::int64_t StepFields::whole(const LocatedJson& map, const char* key) const {
  return whole_value(member(map, key, LocatedJson::Kind::number), key);
}

int StepFields::stage(const LocatedJson& map, const char* key) const {
  const std::int64_t stage = whole(map, key);
  if (stage >= kMostReadStages) {
    refuse(map, fmt::format("'{}' {} is no stage below {}", key, stage, kMostReadStages));
  }
  return static_cast<int>(stage);
}

void StepFields::check_text(const LocatedJson& at, const std::string& text) const {
  if (text.size() > kMostTextBytes) refuse(at, "a text over 4 KiB");
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), control)) {
    refuse(at, "a text holds a control character");
  }
}

std::string StepFields::text(const LocatedJson& map, const char* key) const {
  const LocatedJson& value = member(map, key, LocatedJson::Kind::text);
  check_text(value, value.text);
  return value.text;
}

std::string StepFields::text_if_any(const LocatedJson& map, const char* key) const {
  return optional(map, key) ? text(map, key) : "";
}

}  // namespace windtunnel
