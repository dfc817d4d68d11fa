#pragma once
// What a role does before its first and after its last micro-batch: zeroing and asynchronous
// parameter gathers; gradient reductions, clipping, the optimizer and the blocking parameter
// gather.
//
// Order of the end of a step (NVIDIA/Megatron-LM core/distributed/finalize_model_grads.py):
// data-parallel reduction, gradients of replicated tensors over tp under sequence parallel, tied
// word embedding over the first and last stage (or, where the model lies on the stages twice, all
// gradients over both copies), global norm (one all-reduce: a barrier), clip,
// optimizer, parameter gather.

#include <memory>
#include <string>
#include <vector>

#include "plan/chunk_draft.h"

namespace windtunnel {

/// Scalars every role keeps.
struct StepScalars {
  SlotId loss = kNone;          // mean loss of the replica, then of the job; last stage only
  SlotId norm2 = kNone;         // squared gradient norm
  SlotId expert_norm2 = kNone;  // of parted experts; norm2 itself where one group sums both
  SlotId coefficient = kNone;
  OperandList host;  // copies for the host's update (plan/host_optimizer.h)
};

/// Name of the communicator of a stage and the one that holds the same parts of the other model
/// copy.
std::string copies_comm(int pp, int pipeline_rank);

using ChunkList = std::vector<std::unique_ptr<ChunkDraft>>;

StepScalars make_scalars(RoleDraft& draft);

/// Takes static memory: weights, gradients, master weights. Optimizer states are taken by the first
/// step.
SegmentDraft draft_startup(RoleDraft& draft);
SegmentDraft draft_step_begin(RoleDraft& draft, ChunkList& chunks, const StepScalars& scalars);
SegmentDraft draft_grad_sync(RoleDraft& draft, ChunkList& chunks);
SegmentDraft draft_optimizer(RoleDraft& draft, ChunkList& chunks, const StepScalars& scalars);

}  // namespace windtunnel
