#include "calibrate/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/check.h"
#include "core/diagnostics.h"
#include "models/cost/shape_attributes.h"

namespace windtunnel {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kKinds = {"kernel",       "launch",   "synchronize", "storage_write",
                               "storage_read", "transfer", "overlap"};
constexpr int kMostRanks = 1 << 20;
constexpr double kMostTheft = 8.0;  // sim/engine/step_costs.h
// What no measurement of a processor leaves; within them, fits stay finite.
constexpr double kLeastSeconds = 1e-12, kMostSeconds = 1e6;
constexpr double kLeastRate = 1e3, kMostRate = 1e18;  // FLOP/s, B/s
constexpr double kMostCount = 1e15;                   // bytes, dims

bool has_shape(SampleKind kind) {
  return kind == SampleKind::kernel || kind == SampleKind::overlap;
}
bool has_transfer(SampleKind kind) {
  return kind == SampleKind::transfer || kind == SampleKind::overlap;
}

Json attributes(std::uint16_t attr) {
  Json names = Json::array();
  for (const auto& [bit, name] : kShapeAttributeNames) {
    if ((attr & bit) != 0) names.push_back(name);
  }
  return names;
}

Json rates(const AnchorRates& r) {
  return {r.flops_per_s, r.bytes_per_s};
}

/// Why a line is no sample; caught in parse_sample.
struct NotASample {
  std::string why;
};

void require(bool holds, const char* why) {
  if (!holds) throw NotASample{why};
}

const Json& member(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) throw NotASample{fmt::format("no '{}'", key)};
  return *at;
}

double number(const Json& object, const char* key, double most) {
  const Json& value = member(object, key);
  require(value.is_number(), "a text where a number belongs");
  const auto x = value.get<double>();
  require(std::isfinite(x) && x >= 0.0 && x <= most, "a number out of range");
  return x;
}

std::int64_t integer(const Json& value) {
  require(value.is_number_integer(), "not a whole number");
  const auto x = value.get<double>();
  require(x >= 0.0 && x <= kMostCount, "a whole number out of range");
  return value.get<std::int64_t>();
}

/// The value of an enum by its name; `last` is the last one that has one.
template <class Enum>
Enum by_name(const Json& value, Enum last) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(last); ++i) {
    const auto candidate = static_cast<Enum>(i);
    if (value == name_of(candidate)) return candidate;
  }
  throw NotASample{"an unknown name"};
}

AnchorRates read_rates(const Json& value) {
  require(value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number(),
          "anchors are two rates");
  const AnchorRates r{.flops_per_s = value[0].get<double>(), .bytes_per_s = value[1].get<double>()};
  for (const double rate : {r.flops_per_s, r.bytes_per_s}) {
    require(rate >= kLeastRate && rate <= kMostRate, "anchors are rates of a processor");
  }
  return r;
}

Shape read_shape(const Json& json) {
  Shape shape;
  std::optional<Kernel> kernel;
  for (const KernelRow& row : kernel_table()) {
    if (member(json, "kernel") == row.name) kernel = row.kernel;
  }
  require(kernel.has_value(), "an unknown kernel");
  shape.kernel = *kernel;
  shape.in = by_name(member(json, "in"), Dtype::field);
  shape.out = by_name(member(json, "out"), Dtype::field);
  for (const Json& name : member(json, "attr")) {
    std::uint16_t found = 0;
    for (const auto& [bit, known] : kShapeAttributeNames) {
      if (name.is_string() && name.get<std::string>() == known) found = bit;
    }
    require(found != 0, "an unknown attribute");
    shape.attr |= found;
  }
  const Json& dims = member(json, "dims");
  require(dims.is_array() && dims.size() <= shape.dims.size(), "a shape has at most seven dims");
  for (std::size_t i = 0; i < dims.size(); ++i) shape.dims[i] = integer(dims[i]);
  shape.bytes_read = integer(member(json, "traffic"));
  return shape;
}

Sample read_sample(const Json& json) {
  require(json.is_object(), "not a map");
  Sample s;
  s.kind = by_name(member(json, "kind"), SampleKind::overlap);
  if (has_shape(s.kind)) s.shape = read_shape(json);
  if (has_transfer(s.kind)) {
    s.transfer = by_name(member(json, "transfer"), CommKind::send_recv);
    const std::int64_t ranks = integer(member(json, "ranks"));
    require(ranks >= 2 && ranks <= kMostRanks, "a transfer has two ranks or more");
    s.ranks = static_cast<int>(ranks);
    const std::int64_t nodes = json.contains("nodes") ? integer(json["nodes"]) : 1;
    require(nodes >= 1 && nodes <= ranks, "a transfer spans one node or more, each with a rank");
    s.nodes = static_cast<int>(nodes);
  }
  if (json.contains("bytes")) s.bytes = integer(json["bytes"]);
  require(s.kind == SampleKind::kernel || s.kind == SampleKind::launch ||
              s.kind == SampleKind::synchronize || s.bytes > 0,
          "no bytes were moved");
  s.seconds = number(json, "seconds", kMostSeconds);
  require(s.seconds >= kLeastSeconds, "a time of nothing");
  s.sigma = number(json, "sigma", kLargestSigma);
  s.noise = number(json, "noise", kLargestNoise);
  if (json.contains("early")) s.early = number(json, "early", 1.0);
  const std::int64_t runs = integer(member(json, "runs"));
  require(runs >= 1 && runs <= 1'000'000'000, "runs out of range");
  s.runs = static_cast<int>(runs);
  if (s.kind == SampleKind::overlap) {
    s.kernel_theft = number(json, "kernel_theft", kMostTheft);
    s.transfer_theft = number(json, "transfer_theft", kMostTheft);
  }
  s.before = read_rates(member(json, "before"));
  s.after = read_rates(member(json, "after"));
  return s;
}

}  // namespace

const char* name_of(SampleKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::string key_of(const Sample& s) {
  std::string key = name_of(s.kind);
  if (has_shape(s.kind)) {
    key += fmt::format(" {} {} {} {}", name_of(s.shape.kernel), name_of(s.shape.in),
                       name_of(s.shape.out), s.shape.attr);
    for (const std::int64_t d : s.shape.dims) key += fmt::format(" {}", d);
  }
  if (has_transfer(s.kind)) {
    key += fmt::format(" {} {} {}", name_of(s.transfer), s.ranks, s.nodes);
  }
  if (s.bytes > 0) key += fmt::format(" {}", s.bytes);
  return key;
}

std::string sample_text(const Sample& s) {
  Json json = {{"kind", name_of(s.kind)}};
  if (has_shape(s.kind)) {
    json["kernel"] = name_of(s.shape.kernel);
    json["in"] = name_of(s.shape.in);
    json["out"] = name_of(s.shape.out);
    json["attr"] = attributes(s.shape.attr);
    json["dims"] = s.shape.dims;
    // Together: a shape that touches part of a table has the rest taken off what it reads.
    json["traffic"] = std::max<std::int64_t>(0, s.shape.bytes_read + s.shape.bytes_written);
  }
  if (has_transfer(s.kind)) {
    json["transfer"] = name_of(s.transfer);
    json["ranks"] = s.ranks;
    json["nodes"] = s.nodes;
  }
  if (s.bytes > 0) json["bytes"] = s.bytes;
  json["seconds"] = s.seconds;
  json["sigma"] = s.sigma;
  json["noise"] = s.noise;
  if (s.kind == SampleKind::transfer) json["early"] = s.early;
  json["runs"] = s.runs;
  if (s.kind == SampleKind::overlap) {
    json["kernel_theft"] = s.kernel_theft;
    json["transfer_theft"] = s.transfer_theft;
  }
  json["before"] = rates(s.before);
  json["after"] = rates(s.after);
  return json.dump();
}

Sample parse_sample(const std::string& text, const std::string& file, int line) {
  std::string why;
  try {
    return read_sample(Json::parse(text));
  } catch (const NotASample& reason) {
    why = reason.why;
  } catch (const Json::exception&) {
    why = "not JSON";
  }
  throw InputError({{.position = {.file = file, .line = line},
                     .message = "not a sample of a calibration: " + why,
                     .hint = "remove the line, or the file to measure everything again"}});
}

}  // namespace windtunnel
