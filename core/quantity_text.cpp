#include "core/quantity_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "core/nearest_name.h"

namespace windtunnel {

namespace {

/// base value = number * multiply / divide; one of the two is 1, so that one rounding happens and
/// "2 us" equals the literal 2e-6.
struct Unit {
  std::string_view name;
  double multiply = 1.0;
  double divide = 1.0;
};

constexpr double kKi = 1024.0;
constexpr double kMi = kKi * kKi;
constexpr double kGi = kMi * kKi;
constexpr double kTi = kGi * kKi;

constexpr Unit kTimeUnits[] = {
    {"ps", 1.0, 1e12}, {"ns", 1.0, 1e9}, {"us", 1.0, 1e6}, {"ms", 1.0, 1e3},
    {"s", 1.0, 1.0},   {"min", 60.0},    {"h", 3600.0},    {"d", 86400.0},
};
constexpr Unit kByteUnits[] = {
    {"B", 1.0},   {"kB", 1e3},  {"MB", 1e6},  {"GB", 1e9},  {"TB", 1e12},
    {"KiB", kKi}, {"MiB", kMi}, {"GiB", kGi}, {"TiB", kTi},
};
constexpr Unit kBandwidthUnits[] = {
    {"B/s", 1.0},        {"kB/s", 1e3},        {"MB/s", 1e6},         {"GB/s", 1e9},
    {"TB/s", 1e12},      {"KiB/s", kKi},       {"MiB/s", kMi},        {"GiB/s", kGi},
    {"TiB/s", kTi},      {"bit/s", 1.0, 8.0},  {"kbit/s", 1e3 / 8.0}, {"Mbit/s", 1e6 / 8.0},
    {"Gbit/s", 1e9 / 8}, {"Tbit/s", 1e12 / 8},
};
constexpr Unit kRateUnits[] = {
    {"FLOP/s", 1.0},   {"MFLOP/s", 1e6},  {"GFLOP/s", 1e9},
    {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}, {"EFLOP/s", 1e18},
};

/// Spellings that people use and what they most likely mean; hints only.
struct OtherSpelling {
  std::string_view written, meant;
};

constexpr OtherSpelling kOtherSpellings[] = {
    {"b/s", "bit/s"},   {"kb/s", "kbit/s"}, {"Mb/s", "Mbit/s"},    {"Gb/s", "Gbit/s"},
    {"Tb/s", "Tbit/s"}, {"kbps", "kbit/s"}, {"Mbps", "Mbit/s"},    {"Gbps", "Gbit/s"},
    {"Tbps", "Tbit/s"}, {"GBps", "GB/s"},   {"sec", "s"},          {"secs", "s"},
    {"seconds", "s"},   {"msec", "ms"},     {"usec", "us"},        {"nsec", "ns"},
    {"hours", "h"},     {"hour", "h"},      {"days", "d"},         {"day", "d"},
    {"minutes", "min"}, {"bytes", "B"},     {"TFLOPS", "TFLOP/s"}, {"TFLOPs", "TFLOP/s"},
};

struct Dimension {
  std::string_view noun;     // "time": what the units measure
  std::string_view example;  // "13.75 s"
  std::span<const Unit> units;
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

struct Parsed {
  double value = 0.0;
  std::string problem, hint;
};

std::string unit_hint(std::string_view unit, const Dimension& dimension) {
  std::vector<std::string_view> names;
  for (const Unit& u : dimension.units) names.push_back(u.name);
  std::optional<std::string> meant = nearest_name(unit, names);
  for (const OtherSpelling& other : kOtherSpellings) {
    const bool measures = std::find(names.begin(), names.end(), other.meant) != names.end();
    if (other.written == unit && measures) meant = std::string(other.meant);
  }
  const std::string question = meant ? "did you mean \"" + *meant + "\"? " : "";
  return question + "units: " + join_names(names);
}

Parsed parse(std::string_view text, const Dimension& dimension) {
  const std::string example = "for example \"" + std::string(dimension.example) + "\"";
  const auto fail = [&](std::string problem, std::string hint) {
    return Parsed{.value = 0.0, .problem = std::move(problem), .hint = std::move(hint)};
  };
  text = trim(text);
  double number = 0.0;
  const char* end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status == std::errc::result_out_of_range) return fail("the number is out of range", example);
  if (status != std::errc{} || !std::isfinite(number)) {
    return fail("is not a number with a unit", example);
  }
  if (std::signbit(number) && number != 0.0) return fail("must not be negative", example);
  const std::string_view unit = trim(std::string_view(rest, static_cast<std::size_t>(end - rest)));
  if (unit.empty()) return fail("has no unit", example);
  for (const Unit& u : dimension.units) {
    if (u.name != unit) continue;
    const double value = number * u.multiply / u.divide;
    if (!std::isfinite(value)) return fail("the number is out of range", example);
    return Parsed{.value = value, .problem = {}, .hint = {}};
  }
  return fail("does not end in a unit of " + std::string(dimension.noun),
              unit_hint(unit, dimension) + "; " + example);
}

template <class Q>
ParsedQuantity<Q> parse_as(std::string_view text, const Dimension& dimension) {
  Parsed parsed = parse(text, dimension);
  return {.value = Q{parsed.value},
          .problem = std::move(parsed.problem),
          .hint = std::move(parsed.hint)};
}

}  // namespace

ParsedQuantity<Seconds> parse_seconds(std::string_view text) {
  return parse_as<Seconds>(text, {"time", "13.75 s", kTimeUnits});
}
ParsedQuantity<Bytes> parse_bytes(std::string_view text) {
  return parse_as<Bytes>(text, {"memory", "60.1 GiB", kByteUnits});
}
ParsedQuantity<BytesPerSecond> parse_bytes_per_second(std::string_view text) {
  return parse_as<BytesPerSecond>(text, {"bandwidth", "200 Gbit/s", kBandwidthUnits});
}
ParsedQuantity<FlopsPerSecond> parse_flops_per_second(std::string_view text) {
  return parse_as<FlopsPerSecond>(text, {"compute rate", "312 TFLOP/s", kRateUnits});
}

}  // namespace windtunnel
