#pragma once
// How a job's nodes lie in the NVLink domains of its cluster.
//
// Nodes fill domains in order, the last may be partial. Some stacks' launchers ask the scheduler
// for segments instead: the same number of nodes in every domain, so that groups of ranks that
// divide it stay inside one.

#include "plan/frameworks/framework.h"

namespace windtunnel {

/// Devices of the job in one NVLink domain.
int job_domain(const Cluster& cluster, const FrameworkRules& rules);

}  // namespace windtunnel
