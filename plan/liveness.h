#pragma once
// Where each drafted tensor lives and when it is allocated and freed.
//
// A tensor used in one segment of its chunk is scratch; one used in several is a frame slot. It is
// taken just before its first use and given back just after its last, in the order the segments of
// one micro-batch run: this is what a framework's reference counts do. Tensors an asynchronous
// transfer uses are held up to the wait that ends it.

#include <vector>

#include "plan/role_draft.h"

namespace windtunnel {

/// Inserts alloc and free ops for every non-static tensor of `segments`, which are given in the
/// order they run for one micro-batch, and sets each slot's space.
void insert_allocations(RoleDraft& draft, const std::vector<SegmentDraft*>& segments);

}  // namespace windtunnel
