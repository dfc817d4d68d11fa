#pragma once
// fp16 loss scaling as ops: the loss is scaled, gradients are unscaled after they are reduced, and
// a step whose gradients overflowed anywhere is skipped and the scale halved (docs/precision.md).
//
// What is skipped is the update alone: its kernel reads the flag, as fused optimizers do. The host
// learns of the flag besides, which every stack's step does. The simulator takes all steps to be
// finite.

#include "plan/bucket.h"

namespace windtunnel {

/// Makes the scale and the flag when the plan scales its loss.
void make_loss_scale(RoleDraft& d);
/// Begin of a step: the state of the first step, and no overflow seen.
void draft_scale_begin(RoleDraft& d);
/// Unscales what the optimizer reads and tells everyone in `comm` whether it is finite.
void draft_unscale(RoleDraft& d, const std::vector<SlotId>& grads, std::uint32_t comm);
/// What an update reads besides, so that it does nothing after an overflow.
void add_overflow_guard(const RoleDraft& d, OperandList& inputs);
/// After the updates.
void draft_scale_update(RoleDraft& d);

/// How fully_shard divides fp16 gradients: before and after they are summed, by about the root of
/// the ranks each, so that neither the sum nor its parts leave the range.
struct DivideFactors {
  int before = 1, after = 1;
};
DivideFactors divide_factors(int ranks);

}  // namespace windtunnel
