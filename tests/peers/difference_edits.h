#pragma once
// What each named difference does to the lines of a recording.

#include "tests/peers/named_differences.h"

namespace windtunnel::peers {

EventList loss_all_reduce(EventList events, const RankContext& at);
EventList no_clipping(EventList events, const RankContext& at);
EventList clip_per_parameter(EventList events, const RankContext& at);
EventList root_prefetches(EventList events, const RankContext& at);
EventList one_reduction_in_flight(EventList events, const RankContext& at);
EventList buckets_announced(EventList events, const RankContext& at);
EventList transfers_batched(EventList events, const RankContext& at);
EventList receives_posted_ahead(EventList events, const RankContext& at);
EventList gathered_ahead(EventList events, const RankContext& at);
EventList late_post_backward(EventList events, const RankContext& at);
EventList embedding_all_reduced(EventList events, const RankContext& at);
EventList logits_gathered(EventList events, const RankContext& at);
EventList norm_gradients_at_clip(EventList events, const RankContext& at);
EventList partial_gradients_in_optimizer(EventList events, const RankContext& at);
EventList reduction_actions(EventList events, const RankContext& at);
EventList last_rank_of_the_listing(EventList events, const RankContext& at);

}  // namespace windtunnel::peers
