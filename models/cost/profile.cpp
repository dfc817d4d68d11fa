#include "models/cost/profile.h"

#include <algorithm>
#include <filesystem>

#include "core/data_dir.h"
#include "core/nearest_name.h"
#include "models/cost/attention_variant.h"
#include "models/cost/calibration_fields.h"
#include "models/cost/collective_algebra.h"
#include "models/cost/memory_cost.h"
#include "models/cost/monotone_curve.h"
#include "models/cost/profile_fields.h"
#include "models/cost/profile_names.h"

namespace windtunnel {

namespace {

using Kind = LocatedJson::Kind;

constexpr double kFormatVersion = 1.0;
constexpr std::size_t kMostSources = 1000;
constexpr std::string_view kSuffix = ".profile.json";

/// Reads a map from names of an enum to figures.
template <class Enum>
std::map<Enum, Figure> figures_by(ProfileFields& in, const LocatedJson& map,
                                  const std::vector<std::string_view>& names, Range range) {
  in.allow(map, names);
  std::map<Enum, Figure> result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string key(names[i]);
    if (map.find(key) != nullptr) {
      result[static_cast<Enum>(i)] = in.figure(map, key, range);
    }
  }
  return result;
}

std::vector<ProfileSource> read_sources(ProfileFields& in, const LocatedJson& root) {
  std::vector<ProfileSource> sources;
  const LocatedJson& map = in.member(root, "sources", Kind::map);
  for (const auto& [key, value] : map.members) {
    if (value.kind != Kind::text) in.note(value, "a source is a text");
    sources.push_back({key, value.text});
  }
  if (sources.empty()) in.note(map, "'sources' names nothing");
  if (sources.size() > kMostSources) in.note(map, "over 1000 sources");
  return sources;
}

ChipFigures read_chip(ProfileFields& in, const LocatedJson& map) {
  in.allow(map, {"generation", "sms", "tensor_flops", "memory_bandwidth", "l2_bytes"});
  ChipFigures chip{.sms = in.figure(map, "sms", Range::positive),
                   .tensor_flops = {},
                   .memory_bandwidth = in.figure(map, "memory_bandwidth", Range::positive),
                   .l2_bytes = in.figure(map, "l2_bytes", Range::positive),
                   .generation = in.text(map, "generation")};
  const std::vector<std::string_view> generations = {"volta",  "ampere",    "ada",
                                                     "hopper", "blackwell", "cdna3"};
  if (std::find(generations.begin(), generations.end(), chip.generation) == generations.end()) {
    in.note(map, "unknown generation '" + chip.generation + "'",
            "known: " + join_names(generations));
  }
  const LocatedJson& rates = in.member(map, "tensor_flops", Kind::map);
  chip.tensor_flops = figures_by<Dtype>(in, rates, enum_names(Dtype::field), Range::positive);
  if (chip.tensor_flops.empty()) in.note(rates, "'tensor_flops' has no rate");
  return chip;
}

MemoryFigures read_memory(ProfileFields& in, const LocatedJson& map) {
  in.allow(map, {"driver_bytes", "usable_bytes", "context_bytes", "context_eager_bytes",
                 "nccl_channel_bytes", "nccl_channels", "nccl_nvls_bytes", "cublas_workspace",
                 "cublaslt_workspace"});
  return {.driver_bytes = in.figure(map, "driver_bytes", Range::positive),
          .usable_bytes = in.figure(map, "usable_bytes", Range::positive),
          .context_bytes = in.figure(map, "context_bytes", Range::not_negative),
          .context_eager_bytes = in.figure(map, "context_eager_bytes", Range::not_negative),
          .nccl_channel_bytes = in.figure(map, "nccl_channel_bytes", Range::not_negative),
          .nccl_channels = in.figure(map, "nccl_channels", Range::not_negative),
          .nccl_nvls_bytes = in.figure(map, "nccl_nvls_bytes", Range::not_negative),
          .cublas_workspace = in.figure(map, "cublas_workspace", Range::not_negative),
          .cublaslt_workspace = in.figure(map, "cublaslt_workspace", Range::not_negative)};
}

GemmModel read_gemm_model(ProfileFields& in, const LocatedJson& map) {
  in.allow(map, {"efficiency", "memory_efficiency", "tile_half_area", "ramp", "quantisation",
                 "partial_wave", "epilogue", "fixed", "power_drop", "power_flops", "narrow"});
  GemmModel model{.efficiency = in.figure(map, "efficiency", Range::positive),
                  .memory_efficiency = in.figure(map, "memory_efficiency", Range::positive),
                  .tile_half_area = in.figure(map, "tile_half_area", Range::not_negative),
                  .ramp = in.figure(map, "ramp", Range::not_negative),
                  .quantisation = in.figure(map, "quantisation", Range::share),
                  .partial_wave = in.figure(map, "partial_wave", Range::share),
                  .epilogue = in.figure(map, "epilogue", Range::not_negative),
                  .fixed = in.figure(map, "fixed", Range::not_negative),
                  .power_drop = in.figure(map, "power_drop", Range::share),
                  .power_flops = in.figure(map, "power_flops", Range::positive),
                  .narrow = {}};
  if (map.find("narrow") != nullptr)
    model.narrow = figures_by<Dtype>(in, in.member(map, "narrow", Kind::map),
                                     enum_names(Dtype::field), Range::positive);
  return model;
}

GemmTable read_gemm_table(ProfileFields& in, const LocatedJson& map) {
  in.allow(map, {"dtype", "sigma", "source", "rate_scale", "columns", "rows"});
  GemmTable table{.sigma = in.number(map, "sigma", Range::positive),
                  .source = in.source(map, "source"),
                  .rate_scale = in.number(map, "rate_scale", Range::positive)};
  const auto dtype = named<Dtype>(in, map, "dtype", enum_names(Dtype::field));
  table.dtype = dtype.value_or(Dtype::bf16);
  const std::vector<std::string_view> layouts = {"tn", "nn", "nt"};
  for (const LocatedJson& row : in.member(map, "rows", Kind::list).items) {
    if (row.kind != Kind::list || row.items.size() != 6 || row.items[3].kind != Kind::text ||
        row.items[4].kind != Kind::boolean) {
      in.note(row, "a row is [m, n, k, layout, accumulate_fp32, tflops]");
      continue;
    }
    const auto layout = std::find(layouts.begin(), layouts.end(), row.items[3].text);
    if (layout == layouts.end()) in.note(row.items[3], "unknown layout", "tn, nn, nt");
    table.rows.push_back({.m = in.item(row, 0, Range::positive),
                          .n = in.item(row, 1, Range::positive),
                          .k = in.item(row, 2, Range::positive),
                          .layout = static_cast<GemmLayout>(layout - layouts.begin()),
                          .accumulate_fp32 = row.items[4].boolean,
                          .flops = in.item(row, 5, Range::positive) * 1e12});
  }
  return table;
}

void read_gemm(ProfileFields& in, const LocatedJson& map, Profile& profile) {
  in.allow(map, {"model", "alignment", "tables"});
  profile.gemm = read_gemm_model(in, in.member(map, "model", Kind::map));
  const LocatedJson& alignment = in.member(map, "alignment", Kind::map);
  in.allow(alignment, {"source", "steps", "unaligned_batched"});
  profile.unaligned_batched = in.figure(alignment, "unaligned_batched", Range::share);
  profile.alignment_source = in.source(alignment, "source");
  for (const LocatedJson& step : in.member(alignment, "steps", Kind::list).items) {
    if (step.kind != Kind::list || step.items.size() != 2) {
      in.note(step, "a step is [bytes, factor]");
      continue;
    }
    profile.alignment.push_back(
        {.bytes = in.item(step, 0, Range::positive), .factor = in.item(step, 1, Range::positive)});
  }
  for (const LocatedJson& table : in.member(map, "tables", Kind::list).items) {
    profile.gemm_tables.push_back(read_gemm_table(in, table));
  }
}

AttentionRow read_attention_row(ProfileFields& in, const LocatedJson& map) {
  in.allow(map, {"kernel", "pass", "causal", "head_dim", "peak_tflops", "half_sequence", "wave",
                 "query_tile", "sigma", "source"});
  const std::vector<std::string_view> kernels(kAttentionVariantNames.begin(),
                                              kAttentionVariantNames.end());
  const auto kernel = named<AttentionVariant>(in, map, "kernel", kernels);
  enum class Pass : std::uint8_t { forward, backward };
  const auto pass = named<Pass>(in, map, "pass", {"forward", "backward"});
  return {.variant = static_cast<std::uint8_t>(kernel.value_or(AttentionVariant::flash2)),
          .backward = pass == Pass::backward,
          .causal = in.flag(map, "causal"),
          .head_dim = in.count(map, "head_dim"),
          .peak = in.number(map, "peak_tflops", Range::positive) * 1e12,
          .half_sequence = in.number(map, "half_sequence", Range::not_negative),
          .wave = in.number(map, "wave", Range::not_negative),
          .query_tile = in.count(map, "query_tile"),
          .sigma = in.number(map, "sigma", Range::positive),
          .source = in.source(map, "source")};
}

void read_memory_bound(ProfileFields& in, const LocatedJson& map, Profile& profile) {
  in.allow(map, {"floor", "fixed", "rows"});
  profile.memory_kernel_floor = in.figure(map, "floor", Range::not_negative);
  profile.memory_kernel_fixed = in.figure(map, "fixed", Range::not_negative);
  const std::vector<std::string_view> groups(memory_groups().begin(), memory_groups().end());
  for (const LocatedJson& row : in.member(map, "rows", Kind::list).items) {
    in.allow(row, {"group", "fused", "efficiency"});
    const std::string group = in.text(row, "group");
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) {
      in.note(row, "unknown group '" + group + "'", "known: " + join_names(groups));
    }
    profile.memory_bound.push_back({.group = group,
                                    .fused = in.flag(row, "fused"),
                                    .efficiency = in.figure(row, "efficiency", Range::positive)});
  }
}

LinkFigures read_links(ProfileFields& in, const LocatedJson& map) {
  in.allow(map, {"nvlink_bandwidth", "nvls_bandwidth", "copy_bandwidth", "pcie_bandwidth",
                 "to_host_bandwidth", "to_device_bandwidth", "channels", "network_efficiency"});
  const auto copies = [&](std::string_view key) {
    return map.find(std::string(key)) == nullptr ? Figure{} : in.figure(map, key, Range::positive);
  };
  return {.nvlink_bandwidth = in.figure(map, "nvlink_bandwidth", Range::positive),
          .nvls_bandwidth = in.figure(map, "nvls_bandwidth", Range::not_negative),
          .copy_bandwidth = in.figure(map, "copy_bandwidth", Range::positive),
          .pcie_bandwidth = in.figure(map, "pcie_bandwidth", Range::positive),
          .to_host_bandwidth = copies("to_host_bandwidth"),
          .to_device_bandwidth = copies("to_device_bandwidth"),
          .channels = in.figure(map, "channels", Range::positive),
          .network_efficiency =
              figures_by<NetworkType>(in, in.member(map, "network_efficiency", Kind::map),
                                      enum_names(NetworkType::tcp), Range::share)};
}

void read_noise(ProfileFields& in, const LocatedJson& map, CollectiveCurve& curve) {
  const LocatedJson& list = in.member(map, "noise", Kind::list);
  for (const LocatedJson& of_point : list.items) {
    if (of_point.kind != Kind::list || of_point.items.size() != 2) {
      in.note(of_point, "the noise of a point is [standard deviation, how early members end]");
      continue;
    }
    curve.noise.push_back({.sigma = in.item(of_point, 0, Range::not_negative),
                           .early = in.item(of_point, 1, Range::share)});
  }
  if (list.items.size() != curve.points.size()) in.note(list, "every point has its noise");
  for (const CallNoise& noise : curve.noise) {
    if (noise.sigma > kLargestNoise) in.note(list, "a deviation over 100 times the time itself");
  }
}

CollectiveCurve read_curve(ProfileFields& in, const LocatedJson& map) {
  in.allow(map, {"kind", "ranks", "nodes", "network", "nic_bandwidth", "sigma", "source", "note",
                 "points_us", "noise"});
  const auto kind = named<CommKind>(in, map, "kind", enum_names(CommKind::send_recv));
  const auto network = named<NetworkType>(in, map, "network", enum_names(NetworkType::tcp));
  CollectiveCurve curve{.kind = kind.value_or(CommKind::all_reduce),
                        .ranks = in.count(map, "ranks"),
                        .nodes = in.count(map, "nodes"),
                        .network = network.value_or(NetworkType::none),
                        .sigma = in.number(map, "sigma", Range::positive),
                        .source = in.source(map, "source")};
  if (curve.network != NetworkType::none) {
    curve.nic_bandwidth = in.number(map, "nic_bandwidth", Range::positive);
  }
  for (const LocatedJson& point : in.member(map, "points_us", Kind::list).items) {
    if (point.kind != Kind::list || point.items.size() != 2) {
      in.note(point, "a point is [bytes, microseconds]");
      continue;
    }
    curve.points.emplace_back(in.item(point, 0, Range::positive),
                              in.item(point, 1, Range::positive) * 1e-6);
  }
  if (curve.points.empty()) in.note(map, "a curve needs points");
  if (curve.ranks < 2) in.note(map, "a transfer has two ranks or more");
  if (curve.nodes > curve.ranks) in.note(map, "a group spans no more nodes than it has ranks");
  if (curve.sigma > kLargestSigma) in.note(map, "'sigma' is a log-normal sigma: at most 3");
  for (std::size_t i = 1; i < curve.points.size(); ++i) {
    if (curve.points[i].first <= curve.points[i - 1].first) {
      in.note(map, "the sizes of a curve must rise");
      break;
    }
  }
  if (map.find("noise") != nullptr) read_noise(in, map, curve);
  if (in.problems().empty()) curve.points = monotone(std::move(curve.points));
  return curve;
}

void read_header(ProfileFields& in, const LocatedJson& root, Profile& profile) {
  if (in.text(root, "format") != "windtunnel profile") {
    in.note(root, "not a profile", "\"format\": \"windtunnel profile\"");
    throw InputError(in.problems());  // what else it has or lacks says nothing
  }
  if (in.number(root, "version", Range::positive) != kFormatVersion) {
    in.note(root, "profile version is not known to this program", "known: 1");
  }
  profile.id = in.text(root, "id");
  profile.device = in.text(root, "device");
  profile.kind = in.text(root, "kind");
  profile.date = in.text(root, "date");
  profile.stack = in.text(root, "stack");
}

void read_curves(ProfileFields& in, const LocatedJson& root, Profile& profile) {
  for (const LocatedJson& curve : in.member(root, "collectives", Kind::list).items) {
    profile.curves.push_back(read_curve(in, curve));
    const CollectiveCurve& last = profile.curves.back();
    const auto same = [&last](const CollectiveCurve& c) {
      return c.kind == last.kind && c.ranks == last.ranks && c.nodes == last.nodes &&
             c.network == last.network && c.nic_bandwidth == last.nic_bandwidth;
    };
    if (profile.kind == "calibrated" &&
        std::count_if(profile.curves.begin(), profile.curves.end(), same) > 1) {
      in.note(curve, "the same curve twice");
    }
  }
}

void read_host_and_sigma(ProfileFields& in, const LocatedJson& root, Profile& profile) {
  profile.class_sigma = figures_by<CostClass>(in, in.member(root, "class_sigma", Kind::map),
                                              enum_names(CostClass::link), Range::not_negative);
  profile.host = figures_by<HostItem>(in, in.member(root, "host", Kind::map),
                                      enum_names(HostItem::synchronize), Range::not_negative);
}

void read_public(ProfileFields& in, const LocatedJson& root, Profile& profile) {
  in.allow(root,
           {"format", "version", "id", "device", "kind", "date", "stack", "sources", "class_sigma",
            "chip", "memory", "gemm", "attention", "memory_bound", "links", "collectives", "host"});
  read_host_and_sigma(in, root, profile);
  profile.chip = read_chip(in, in.member(root, "chip", Kind::map));
  profile.memory = read_memory(in, in.member(root, "memory", Kind::map));
  read_gemm(in, in.member(root, "gemm", Kind::map), profile);
  for (const LocatedJson& row : in.member(root, "attention", Kind::list).items) {
    profile.attention.push_back(read_attention_row(in, row));
  }
  if (profile.attention.empty()) in.note(root, "'attention' has no row");
  read_memory_bound(in, in.member(root, "memory_bound", Kind::map), profile);
  profile.links = read_links(in, in.member(root, "links", Kind::map));
  read_curves(in, root, profile);
  for (const CollectiveCurve& curve : profile.curves) {
    if (curve.network == NetworkType::none) continue;
    if (profile.links.network_efficiency.contains(curve.network)) continue;
    in.note(root, "the network of a curve has no entry in 'network_efficiency'");
  }
}

/// A calibration prices what it measured: nothing of a GPU has to be known.
void read_calibrated(ProfileFields& in, const LocatedJson& root, Profile& profile) {
  in.allow(root, {"format",  "version",     "id",      "device",      "kind",         "date",
                  "stack",   "sources",     "anchors", "memory",      "class_sigma",  "peak_flops",
                  "kernels", "collectives", "noise",   "drift",       "overlap",      "host",
                  "storage", "measured",    "quality", "fingerprint", "extrapolated", "slow"});
  read_host_and_sigma(in, root, profile);
  const LocatedJson& memory = in.member(root, "memory", Kind::map);
  in.allow(memory, {"usable_bytes", "context_bytes"});
  profile.memory.usable_bytes = in.figure(memory, "usable_bytes", Range::positive);
  profile.memory.context_bytes = in.figure(memory, "context_bytes", Range::not_negative);
  profile.chip.tensor_flops = figures_by<Dtype>(in, in.member(root, "peak_flops", Kind::map),
                                                enum_names(Dtype::field), Range::positive);
  read_curves(in, root, profile);
  for (const CollectiveCurve& curve : profile.curves) {
    if ((curve.network == NetworkType::none) != (curve.nodes == 1)) {
      in.note(root, "a curve over nodes names its network, one inside a node 'none'");
    }
  }
  profile.calibration = read_calibration(in, root);
  profile.calibration->extrapolation_source = static_cast<std::uint16_t>(profile.sources.size());
  profile.sources.push_back(
      {"extrapolated", "fit of " + profile.id + ", beyond what was measured"});
}

void read_body(ProfileFields& in, const LocatedJson& root, Profile& profile) {
  const bool calibrated = profile.kind == "calibrated" && root.find("kernels") != nullptr;
  if (calibrated) {
    read_calibrated(in, root, profile);
  } else {
    read_public(in, root, profile);
  }
}

Profile read_profile(const LocatedJson& root, const std::string& path) {
  Profile profile;
  profile.file = path;
  ProfileFields in(path, &profile.sources);
  if (root.kind != Kind::map) {
    in.note(root, "a profile is a map");
    throw InputError(in.problems());
  }
  read_header(in, root, profile);
  profile.sources = read_sources(in, root);
  read_body(in, root, profile);
  if (!in.problems().empty()) throw InputError(in.problems());
  return profile;
}

}  // namespace

Profile load_profile(const std::string& path) {
  return read_profile(read_located_json(path), path);
}

Profile parse_profile(const std::string& text, const std::string& name) {
  return read_profile(parse_located_json(text, name), name);
}

std::vector<std::string> public_profile_devices() {
  std::vector<std::string> devices;
  std::error_code ignored;
  const std::filesystem::path folder = data_dir() + "/scenarios/profiles";
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kSuffix)) devices.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  std::sort(devices.begin(), devices.end());
  return devices;
}

Profile load_public_profile(const std::string& device) {
  const std::vector<std::string> known = public_profile_devices();
  if (std::find(known.begin(), known.end(), device) == known.end()) {
    throw InputError({{.position = {},
                       .message = "no public profile for device '" + device + "'",
                       .hint = "devices with one: " + join_names({known.begin(), known.end()})}});
  }
  return load_profile(data_dir() + "/scenarios/profiles/" + device + std::string(kSuffix));
}

}  // namespace windtunnel
