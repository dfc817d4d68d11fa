#pragma once
// The largest heap block that the objects of a binary took: what a test links to see that code
// takes none. Allocations come here by the linker's --wrap of malloc, calloc and aligned_alloc, and
// by replacing operator new; those inside shared libraries do not.

#include <cstddef>

namespace windtunnel::test {

/// Bytes of the largest block since the last `forget_blocks`.
std::size_t largest_block();
void forget_blocks();

}  // namespace windtunnel::test
