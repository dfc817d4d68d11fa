#pragma once
// Where each drafted tensor lives and when it is allocated and freed.
//
// A tensor used in one segment of its chunk is scratch; one used in several is a frame slot. It is
// taken just before its first use and given back just after its last, in the order the segments of
// one micro-batch run: this is what a framework's reference counts do. Tensors an asynchronous
// transfer uses are held up to the wait that ends it. Where a backward can be run whole or in two
// parts, a micro-batch takes one of several paths through the segments, which share the first ones.

#include <vector>

#include "plan/role_draft.h"

namespace windtunnel {

/// Segments in the order they run for one micro-batch.
using SegmentPath = std::vector<SegmentDraft*>;

/// Inserts alloc and free ops for every non-static tensor of the paths, and sets each slot's space.
/// Precondition: a tensor's last use lies in a segment that its paths share in all of them or in
/// none.
void insert_allocations(RoleDraft& draft, const std::vector<SegmentPath>& paths);

}  // namespace windtunnel
