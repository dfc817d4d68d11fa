// Sections `cluster` and `cluster.network`.

#include <fmt/format.h>

#include "core/nearest_name.h"
#include "scenarios/device_names.h"
#include "scenarios/sections/files.h"
#include "scenarios/sections/scalars.h"
#include "scenarios/sections/sections.h"
#include "scenarios/yaml/utf8.h"

namespace windtunnel {

namespace {

std::optional<std::string> device(const Reading& reading, const YamlValue& value) {
  for (const std::string_view name : device_names()) {
    if (is_word(value, name)) return std::string(name);
  }
  const auto names = device_names();
  std::string hint = "devices: " + join_names({names.begin(), names.end()});
  const std::vector<std::string> candidates = device_candidates(value.text());
  if (!candidates.empty()) {
    hint = "did you mean " + join_names({candidates.begin(), candidates.end()}) + "?";
  }
  reading.problem(value, fmt::format("{} is not a known device", value.described()), hint);
  return std::nullopt;
}

std::optional<double> at_least_one(const Reading& reading, const YamlValue& value) {
  const auto parsed = number(reading, value);
  if (!parsed || *parsed >= 1.0) return parsed;
  reading.problem(value, fmt::format("must be at least 1, not {}", value.described()), "");
  return std::nullopt;
}

std::optional<BytesPerSecond> positive_bandwidth(const Reading& reading, const YamlValue& value) {
  const auto parsed = bandwidth(reading, value);
  if (!parsed || parsed->value > 0.0) return parsed;
  reading.problem(value, "must be above 0", "for example \"200 Gbit/s\"");
  return std::nullopt;
}

constexpr Key<NetworkSpec> kNetworkKeys[] = {
    {"nics_per_node", set<&NetworkSpec::nics_per_node, degree>},
    {"nic_bandwidth", set<&NetworkSpec::nic_bandwidth, positive_bandwidth>},
    {"latency", set<&NetworkSpec::latency, seconds>},
    {"oversubscription", set<&NetworkSpec::oversubscription, at_least_one>},
    {"nodes_per_leaf", set<&NetworkSpec::nodes_per_leaf, degree>},
    {"kind", set<&NetworkSpec::kind, word<kNetworkWords>>},
};

constexpr Key<Degraded> kDegradedKeys[] = {
    {"node", set<&Degraded::node, index_number>},
    {"rank", set<&Degraded::rank, index_number>},
    {"nic_bandwidth", set<&Degraded::nic_bandwidth, positive_bandwidth>},
    {"slowdown", set<&Degraded::slowdown, at_least_one>},
};

void check_degraded(const Reading& reading, const YamlValue& value, const Degraded& entry) {
  constexpr const char* kExample =
      "{node: 3, nic_bandwidth: \"50 Gbit/s\"} or {rank: 17, slowdown: 1.5}";
  if (entry.node.has_value() == entry.rank.has_value()) {
    reading.problem(value, "names either a node or a rank", kExample);
  }
  if (!entry.nic_bandwidth && !entry.slowdown) {
    reading.problem(value, "says neither nic_bandwidth nor slowdown", kExample);
  }
}

void read_degraded(Reading& reading, const YamlValue& value, Cluster& into) {
  if (!is_list(reading, value)) return;
  const std::string section = reading.path;
  for (std::size_t i = 0; i < value.size(); ++i) {
    reading.path = fmt::format("{}.{}", section, i);
    const std::size_t before = reading.problems.added();
    Degraded& entry = into.degraded.emplace_back();
    read_section(reading, value.item(i), kDegradedKeys, entry);
    if (reading.problems.added() == before) check_degraded(reading, value.item(i), entry);
  }
  reading.path = section;
}

std::optional<Bytes> positive_bytes(const Reading& reading, const YamlValue& value) {
  const auto parsed = bytes(reading, value);
  if (!parsed || parsed->value > 0.0) return parsed;
  reading.problem(value, "must be above 0", "for example \"2 TB\"");
  return std::nullopt;
}

constexpr Key<HostSpec> kHostKeys[] = {
    {"memory", set<&HostSpec::memory, positive_bytes>},
    {"memory_bandwidth", set<&HostSpec::memory_bandwidth, positive_bandwidth>},
};

void read_host(Reading& reading, const YamlValue& value, Cluster& into) {
  read_section(reading, value, kHostKeys, into.host);
}

constexpr Key<Cluster> kPriceKeys[] = {
    {"device_hour", set<&Cluster::price_device_hour, positive_number>},
};

void read_price(Reading& reading, const YamlValue& value, Cluster& into) {
  read_section(reading, value, kPriceKeys, into);
}
void read_network_key(Reading& reading, const YamlValue& value, Cluster& into) {
  read_network(reading, value, into.network.emplace());
}
void read_unit_key(Reading& reading, const YamlValue& value, Cluster& into) {
  read_unit_costs(reading, value, into.unit.emplace());
}

constexpr Key<Cluster> kClusterKeys[] = {
    {"device", set<&Cluster::device, device>},
    {"devices_per_node", set<&Cluster::devices_per_node, degree>},
    {"nodes", set<&Cluster::nodes, degree>},
    {"nvlink_domain", set<&Cluster::nvlink_domain, degree>},
    {"network", read_network_key},
    {"host", read_host},
    {"degraded", read_degraded},
    {"price", read_price},
    {"unit", read_unit_key},
};

void read_cluster_mapping(Reading& reading, const YamlValue& value, Cluster& into) {
  into.nvlink_domain = 0;
  read_section(reading, value, kClusterKeys, into);
  require_keys(reading, value, {"device", "devices_per_node", "nodes"},
               "{device: a100-sxm-80gb, devices_per_node: 8, nodes: 8}");
  if (into.nvlink_domain == 0) into.nvlink_domain = into.devices_per_node;
}

void read_network_mapping(Reading& reading, const YamlValue& value, NetworkSpec& into) {
  read_section(reading, value, kNetworkKeys, into);
  require_keys(reading, value, {"nics_per_node", "nic_bandwidth"},
               "{nics_per_node: 8, nic_bandwidth: 200 Gbit/s, kind: ib}");
}

/// The mapping in a file the scenario names; its keys are recorded as if written in place.
template <class T>
void read_from_file(Reading& reading, const YamlValue& value, const std::string& path,
                    void (*read_mapping)(Reading&, const YamlValue&, T&), T& into) {
  const auto tree = file_tree(reading, value, path);
  if (tree == nullptr) return;
  reading.sources.push_back(tree->source);
  read_mapping(reading, YamlValue(*tree, tree->root), into);
}

}  // namespace

void read_network(Reading& reading, const YamlValue& value, NetworkSpec& into) {
  if (!value.is_scalar()) return read_network_mapping(reading, value, into);
  const auto path = named_file(reading, value, "scenarios/clusters/networks");
  if (!path) return;
  into.name = value.text();
  read_from_file(reading, value, *path, read_network_mapping, into);
}

void read_cluster(Reading& reading, const YamlValue& value, Cluster& into) {
  if (!value.is_scalar()) return read_cluster_mapping(reading, value, into);
  const auto path = is_path(value.text()) ? existing_file(reading, value, "")
                                          : named_file(reading, value, "scenarios/clusters");
  if (!path) return;
  into.name = value.text();
  read_from_file(reading, value, *path, read_cluster_mapping, into);
}

std::vector<KeySection> cluster_keys() {
  return {{"cluster", key_names(kClusterKeys)},
          {"cluster.network", key_names(kNetworkKeys)},
          {"cluster.host", key_names(kHostKeys)},
          {"cluster.degraded", key_names(kDegradedKeys)},
          {"cluster.price", key_names(kPriceKeys)}};
}

}  // namespace windtunnel
