#include "models/cost/profile_fields.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/nearest_name.h"

namespace windtunnel {

namespace {

using Kind = LocatedJson::Kind;

constexpr std::size_t kMostProblems = 100;  // a wrong file is wrong everywhere: enough is enough
constexpr double kLargestNumber = 1e18;     // bytes and FLOP/s of any device stay far below
constexpr double kLargestCount = 1e9;

const char* name_of(Kind kind) {
  static constexpr std::array kNames = {"null",   "true or false", "a number",
                                        "a text", "a list",        "a map"};
  return kNames[static_cast<std::size_t>(kind)];
}

const LocatedJson& empty_of(Kind kind) {
  static const std::array kEmpty = {
      LocatedJson{.kind = Kind::null},   LocatedJson{.kind = Kind::boolean},
      LocatedJson{.kind = Kind::number}, LocatedJson{.kind = Kind::text},
      LocatedJson{.kind = Kind::list},   LocatedJson{.kind = Kind::map}};
  return kEmpty[static_cast<std::size_t>(kind)];
}

}  // namespace

void ProfileFields::note(const LocatedJson& at, std::string message, std::string hint) {
  if (problems_.size() >= kMostProblems) return;
  problems_.push_back({.position = {.file = file_, .line = at.line, .column = at.column},
                       .message = std::move(message),
                       .hint = std::move(hint)});
}

void ProfileFields::allow(const LocatedJson& map, const std::vector<std::string_view>& allowed) {
  for (const auto& [key, value] : map.members) {
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    const auto near = nearest_name(key, allowed);
    note(value, "unknown key '" + key + "'",
         near ? "did you mean '" + *near + "'?" : "known keys: " + join_names(allowed));
  }
}

const LocatedJson& ProfileFields::member(const LocatedJson& map, std::string_view key, Kind kind) {
  const LocatedJson* found = map.find(std::string(key));
  if (found == nullptr) {
    note(map, "missing key '" + std::string(key) + "'");
    return empty_of(kind);
  }
  if (found->kind != kind) {
    note(*found, "'" + std::string(key) + "' must be " + name_of(kind));
    return empty_of(kind);
  }
  return *found;
}

void ProfileFields::check_range(const LocatedJson& at, double value, Range range,
                                std::string_view key) {
  const std::string name = "'" + std::string(key) + "'";
  if (range == Range::positive && value <= 0.0) note(at, name + " must be over 0");
  if (range != Range::positive && value < 0.0) note(at, name + " must not be negative");
  if (value > kLargestNumber) note(at, name + " is over 1e18");
  if (range == Range::share && value > 1.0) note(at, name + " is a share: at most 1");
}

double ProfileFields::number(const LocatedJson& map, std::string_view key, Range range) {
  const std::size_t before = problems_.size();
  const LocatedJson& at = member(map, key, Kind::number);
  if (problems_.size() == before) check_range(at, at.number, range, key);
  return at.number;
}

int ProfileFields::count(const LocatedJson& map, std::string_view key) {
  const std::size_t before = problems_.size();
  const double value = number(map, key, Range::positive);
  if (problems_.size() != before) return 1;
  if (value < 1.0 || value > kLargestCount || value != std::floor(value)) {
    note(*map.find(std::string(key)), "'" + std::string(key) + "' must be a whole number");
    return 1;
  }
  return static_cast<int>(value);
}

std::string ProfileFields::text(const LocatedJson& map, std::string_view key) {
  return member(map, key, Kind::text).text;
}

bool ProfileFields::flag(const LocatedJson& map, std::string_view key) {
  return member(map, key, Kind::boolean).boolean;
}

std::uint16_t ProfileFields::source(const LocatedJson& map, std::string_view key) {
  const std::string name = text(map, key);
  for (std::size_t i = 0; i < sources_->size(); ++i) {
    if ((*sources_)[i].key == name) return static_cast<std::uint16_t>(i);
  }
  if (name.empty()) return 0;
  std::vector<std::string_view> known;
  for (const ProfileSource& s : *sources_) known.push_back(s.key);
  const LocatedJson* at = map.find(std::string(key));
  note(at ? *at : map, "source '" + name + "' is not listed under 'sources'",
       "known: " + join_names(known));
  return 0;
}

Figure ProfileFields::figure(const LocatedJson& map, std::string_view key, Range range) {
  return figure_of(member(map, key, Kind::map), key, range);
}

Figure ProfileFields::figure_of(const LocatedJson& value, std::string_view key, Range range) {
  if (value.line == 0) return {};  // already noted as missing
  allow(value, {"value", "sigma", "source"});
  Figure figure;
  const std::size_t before = problems_.size();
  const LocatedJson& at = member(value, "value", Kind::number);
  figure.value = at.number;
  if (problems_.size() == before) check_range(at, figure.value, range, key);
  if (value.find("sigma") != nullptr) figure.sigma = number(value, "sigma", Range::not_negative);
  if (figure.sigma > kLargestSigma) note(value, "'sigma' is a log-normal sigma: at most 3");
  figure.source = source(value, "source");
  return figure;
}

double ProfileFields::item(const LocatedJson& list, std::size_t index, Range range) {
  if (index >= list.items.size()) {
    note(list, "row too short");
    return 1.0;
  }
  const LocatedJson& at = list.items[index];
  if (at.kind != Kind::number) {
    note(at, "must be a number");
    return 1.0;
  }
  check_range(at, at.number, range, "row entry");
  return at.number;
}

}  // namespace windtunnel
