#pragma once
// Typed access to the values of a step's JSON: the value, or an InputError with its place.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/located_json.h"

namespace windtunnel {

class StepFields {
 public:
  explicit StepFields(std::string file) : file_(std::move(file)) {}

  /// The member, or nullptr when it is missing or null.
  const LocatedJson* optional(const LocatedJson& map, const char* key) const;
  const LocatedJson& member(const LocatedJson& map, const char* key, LocatedJson::Kind kind) const;

  double seconds(const LocatedJson& value, std::string_view key) const;
  /// [shortest, longest]
  std::array<double, 2> range(const LocatedJson& value, std::string_view key) const;
  double number(const LocatedJson& map, const char* key) const;  // 0 when it is missing
  std::int64_t whole_value(const LocatedJson& value, std::string_view key) const;
  std::int64_t whole(const LocatedJson& map, const char* key) const;
  int stage(const LocatedJson& map, const char* key) const;
  std::string text(const LocatedJson& map, const char* key) const;
  std::string text_if_any(const LocatedJson& map, const char* key) const;
  void check_text(const LocatedJson& at, const std::string& text) const;

  [[noreturn]] void refuse(const LocatedJson& at, std::string message, std::string hint = {}) const;

 private:
  std::string file_;
};

}  // namespace windtunnel
