#pragma once
// Bytes of the host's memory that one rank of a role takes: its offloaded tensors, in host issue
// order, over the first and a later step. Pinned blocks are kept for later requests, but their
// bytes here are those in use: what the program needs, not what an allocator keeps.

#include <cstdint>

#include "program/program.h"

namespace windtunnel {

/// The most at any moment; 0 where nothing is offloaded.
std::int64_t peak_host_bytes(const Program& program, const Role& role);

}  // namespace windtunnel
