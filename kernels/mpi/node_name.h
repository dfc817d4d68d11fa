#pragma once
// The machine a process is on, and the node of a cluster it counts as.

#include <string>

namespace windtunnel {

/// Of the machine's boot: its clock counts from there. Empty where the system has no such name.
std::string boot_name();

/// Of the machine and its network: processes that reach each other only over a network are on
/// different nodes, also in containers of one machine.
std::string node_name();

}  // namespace windtunnel
