#pragma once
// Typed access to the fields of a Hugging Face config.json.
//
// Each getter returns a usable value and notes what is wrong, so that one pass over a file reports
// everything at once: a missing field by its name, a wrong type or an out-of-range number at its
// place. JSON null counts as absent, as in the library's own readers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.h"
#include "models/architectures/json_object.h"

namespace windtunnel {

class HfFields {
 public:
  /// `file` names the config in errors.
  HfFields(JsonObject object, std::string file);

  bool has(std::string_view name) const;

  /// A positive integer below 2^31; required.
  std::int64_t count(std::string_view name);
  /// The first of `names` that is present; the error of a missing one names the first.
  std::int64_t count(std::initializer_list<std::string_view> names);
  /// Absent: `otherwise`.
  std::int64_t count_or(std::string_view name, std::int64_t otherwise);
  /// As `count_or`, and 0 is allowed.
  std::int64_t count_or_zero(std::string_view name, std::int64_t otherwise);
  std::optional<std::int64_t> optional_count(std::string_view name);

  bool flag(std::string_view name, bool otherwise);
  double fraction(std::string_view name, double otherwise);  // in [0, 1]
  std::string text(std::string_view name, const std::string& otherwise);
  std::size_t elements(std::string_view name) const;  // of a list; 0 when absent

  /// Notes an error at the field's place, or at the file when `name` is absent.
  void refuse(std::string_view name, const std::string& message, const std::string& hint = {});

  const std::vector<Diagnostic>& errors() const { return errors_; }

 private:
  const JsonValue* find(std::string_view name) const;
  std::int64_t integer_from(const JsonValue& value, std::string_view name, std::int64_t low);

  JsonObject object_;
  std::string file_;
  std::vector<Diagnostic> errors_;
};

/// Text of a file made safe to print: at most 60 characters, control characters as '?'.
std::string quoted(std::string_view text);

}  // namespace windtunnel
