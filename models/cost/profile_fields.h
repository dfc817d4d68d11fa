#pragma once
// Typed access to the fields of a profile file. Every problem is noted with its line and reading
// goes on with a default, so that one pass names all of them.

#include <string_view>
#include <vector>

#include "core/located_json.h"
#include "models/cost/profile.h"

namespace windtunnel {

/// Numbers that have no business being negative, zero or over one.
enum class Range : std::uint8_t { positive, not_negative, share };

class ProfileFields {
 public:
  ProfileFields(std::string file, std::vector<ProfileSource>* sources)
      : file_(std::move(file)), sources_(sources) {}

  /// Notes every key of `map` that is not in `allowed`, with the nearest name.
  void allow(const LocatedJson& map, const std::vector<std::string_view>& allowed);

  /// The member, of the kind given; an empty value of that kind when it is missing or another.
  const LocatedJson& member(const LocatedJson& map, std::string_view key, LocatedJson::Kind kind);

  double number(const LocatedJson& map, std::string_view key, Range range);
  /// A whole number from 1 to 1e9.
  int count(const LocatedJson& map, std::string_view key);
  std::string text(const LocatedJson& map, std::string_view key);
  bool flag(const LocatedJson& map, std::string_view key);

  /// {"value": x, "sigma": s, "source": key}; sigma may be left out of exact counts.
  Figure figure(const LocatedJson& map, std::string_view key, Range range);
  Figure figure_of(const LocatedJson& value, std::string_view key, Range range);
  std::uint16_t source(const LocatedJson& map, std::string_view key);

  /// A list's element at `index` as a number in range.
  double item(const LocatedJson& list, std::size_t index, Range range);

  void note(const LocatedJson& at, std::string message, std::string hint = {});
  const std::vector<Diagnostic>& problems() const { return problems_; }

 private:
  void check_range(const LocatedJson& at, double value, Range range, std::string_view key);

  std::string file_;
  std::vector<ProfileSource>* sources_;
  std::vector<Diagnostic> problems_;
};

}  // namespace windtunnel
