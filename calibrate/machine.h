#pragma once
// The machine and the software that a calibration holds for.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace windtunnel {

struct Machine {
  std::string processor;
  int cores = 1;  // that this process may run on
  std::int64_t memory_bytes = 0;
  std::string kernel;    // of the operating system
  std::string compiler;  // of this program, with the C library
};

/// What the system says; "unknown" where it says nothing.
Machine this_machine();

/// In a line: what must be the same for samples to be put together. `numbers`: what the kernels
/// compute in, "fp32" or "fp64".
std::string machine_line(const Machine& machine, const std::string& numbers);

/// For a profile: all of it, by name.
std::vector<std::pair<std::string, std::string>> fingerprint(const Machine& machine);

/// Today in UTC, as 2026-01-31.
std::string today();

}  // namespace windtunnel
