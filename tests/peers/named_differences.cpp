#include "tests/peers/named_differences.h"

#include <algorithm>
#include <array>

#include "core/check.h"
#include "tests/peers/difference_edits.h"

namespace windtunnel::peers {

namespace {

constexpr std::array kDifferences = {
    NamedDifference{"loss_all_reduce", "adds an all-reduce of one fp32 over dp",
                    "training loops average the loss they print; the recorded loop does not",
                    loss_all_reduce},
    NamedDifference{"no_clipping", "adds an all-reduce of one fp32",
                    "a lowered step always takes the gradient norm; this recorded loop does not",
                    no_clipping},
    NamedDifference{"clip_per_parameter", "27 or 15 fp32 in the all-reduce of the norm become one",
                    "clip_grad_norm_ on DTensors reduces a norm of each parameter",
                    clip_per_parameter},
    NamedDifference{"root_prefetches",
                    "moves two gathers of forward and one of backward ahead of the root's compute",
                    "`prefetch` holds for every unit; the recorded program told the layers alone",
                    root_prefetches},
    NamedDifference{"one_reduction_in_flight",
                    "adds wait_reduce before every reduction but the first",
                    "a freed tensor that a side stream still reads (record_stream) is no part of a "
                    "program, so FSDP1 is lowered as "
                    "fully_shard does it: compute waits for the reduction before",
                    one_reduction_in_flight},
    NamedDifference{"buckets_announced", "removes two broadcasts of int32",
                    "DDP tells the bucket order once, before the step that has it; a static graph "
                    "in the third step",
                    buckets_announced},
    NamedDifference{"transfers_batched", "all messages between two actions are one batch",
                    "blocking transfers are lowered as Megatron-LM fuses them; ScheduleGPipe and "
                    "the warm-up and cool-down of Schedule1F1B issue them one by one",
                    transfers_batched},
    NamedDifference{"receives_posted_ahead",
                    "receives are compared by peer and direction, not with what stands between",
                    "receives are lowered one action before the one that needs them; PyTorch "
                    "places them by a simulation of all ranks (_add_send_recv)",
                    receives_posted_ahead, true},
    NamedDifference{"gathered_ahead",
                    "moves gathers and copies behind the first forward of their stage",
                    "PyTorch's UNSHARD gathers the stages to come ahead of use; a lowered unit is "
                    "gathered when the first forward reaches it",
                    gathered_ahead},
    NamedDifference{"late_post_backward",
                    "moves every layer's reshard and reduction one unit earlier",
                    "with forward_prefetch FSDP1's post-backward hook of a unit runs behind the "
                    "backward of the next",
                    late_post_backward},
    NamedDifference{"embedding_all_reduced",
                    "the all-reduce behind the embedding becomes a reduce-scatter",
                    "RowwiseParallel of an embedding all-reduces and cuts in PyTorch 2.15; it is "
                    "lowered with the reduce-scatter of Megatron-LM",
                    embedding_all_reduced},
    NamedDifference{"logits_gathered",
                    "the all-gather of the logits becomes three all-reduces of one fp32 per token",
                    "logits and loss stay cut over the vocabulary, as under loss_parallel",
                    logits_gathered},
    NamedDifference{"norm_gradients_at_clip",
                    "five all-reduces of a norm's gradient become one, coalesced",
                    "DTensor reduces partial gradients of norms one by one when they are clipped",
                    norm_gradients_at_clip},
    NamedDifference{
        "partial_gradients_in_optimizer", "removes 15 all-reduces of a norm's gradient",
        "DTensor reduces a gradient that is still partial in each of three operators of AdamW",
        partial_gradients_in_optimizer},
    NamedDifference{"reduction_actions", "removes REDUCE_GRAD and WAIT_REDUCE_GRAD",
                    "a list of ours has computations; reductions are calls that lowering adds",
                    reduction_actions},
    NamedDifference{"last_rank_of_the_listing",
                    "lowers the micro-batch of the last rank's forwards by one",
                    "Schedule1F1B._get_pipeline_order of 2.15 counts them from one; the executed "
                    "schedule does not",
                    last_rank_of_the_listing},
};

}  // namespace

std::span<const NamedDifference> named_differences() {
  return kDifferences;
}

const NamedDifference& named_difference(const std::string& name) {
  const auto found = std::find_if(kDifferences.begin(), kDifferences.end(),
                                  [&](const NamedDifference& d) { return d.name == name; });
  CHECK(found != kDifferences.end(), "a case names a difference: " + name);
  return *found;
}

}  // namespace windtunnel::peers
