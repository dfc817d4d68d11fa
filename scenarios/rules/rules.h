#pragma once
// What a scenario must satisfy that no framework decides: degrees that multiply to the devices,
// batches and heads that divide, sizes inside what the program can count. Each rule returns every
// problem it finds, at the key it is about. Precondition: the scenario was read without problems.

#include <vector>

#include "scenarios/scenario.h"

namespace windtunnel {

/// Degrees, their product, expert parallelism, the order of dimensions.
std::vector<Diagnostic> check_degrees(const Scenario& scenario);
/// Heads, widths, experts and sequence over the degrees.
std::vector<Diagnostic> check_division(const Scenario& scenario);
/// Virtual stages, layers per stage, micro-batches.
std::vector<Diagnostic> check_schedule(const Scenario& scenario);
/// Nodes, network, degraded parts, costs of device `unit`, ranks measured.
std::vector<Diagnostic> check_cluster(const Scenario& scenario);
/// Products that must stay inside 64 bits.
std::vector<Diagnostic> check_magnitudes(const Scenario& scenario);

/// All of the above; the later ones only when the earlier found nothing.
std::vector<Diagnostic> check_rules(const Scenario& scenario);

/// The data-parallel degree, given or from the devices. Precondition: check_degrees found nothing.
std::int64_t data_parallel_degree(const Scenario& scenario);

}  // namespace windtunnel
