#include "plan/resolve_cluster.h"

namespace windtunnel {

int job_domain(const Cluster& cluster, const FrameworkRules& rules) {
  const bool fits = cluster.devices() <= cluster.nvlink_domain;
  if (!rules.equal_segments || fits) return cluster.nvlink_domain;
  int segment = cluster.nvlink_domain / cluster.devices_per_node;
  if (segment < 2) return cluster.nvlink_domain;
  while (cluster.nodes % segment != 0) --segment;
  return segment * cluster.devices_per_node;
}

}  // namespace windtunnel
