#pragma once
// How a bucket's gradients become those of the whole data-parallel group, or this rank's shard of
// them.
//
// Over whole groups: one all-reduce, or under ZeRO-1 one reduce-scatter, after the last
// micro-batch. To shards in every micro-batch (ZeRO-2, ZeRO-3, FSDP): gradients are laid one after
// the other into one buffer, which is reduce-scattered over the shard group and, where there are
// replicas of shards (HSDP), all-reduced over these; from the second micro-batch on the result is
// added to the shard.

#include "plan/bucket.h"

namespace windtunnel {

/// Gradients of parted experts come from the tokens of all ranks of the expert group: their average
/// over the replicas is that of the data-parallel group when it is divided by the places the expert
/// group spans (Megatron-LM core/distributed/distributed_data_parallel.py, expert gradient
/// scaling).
void scale_expert_gradients(RoleDraft& draft, const Bucket& bucket, When when);

/// Reduce-scatter of whole gradients under ZeRO-1, else their all-reduce; over all replicas.
void draft_bucket_reduction(RoleDraft& draft, const Bucket& bucket, Stream stream, When when);

/// The same on a stream of its own, behind what compute has been given, in the last micro-batch.
void reduce_beside_backward(RoleDraft& draft, const Bucket& bucket);

/// Where a parameter's gradient lies in its bucket.
struct BucketPart {
  SlotId grad = kNone;
  std::int64_t offset = 0;
};
/// Copies a gradient into the bucket's buffer, which is made when the first one comes.
void copy_into_bucket(RoleDraft& draft, Bucket& bucket, const BucketPart& part);

/// Reduces `bucket.reduce_input` to the shard, in micro-batches of `when` (always or the last).
void reduce_to_shard(RoleDraft& draft, Bucket& bucket, When when);

/// Compute waits until the reduction of `bucket` has read its input, whose memory may then be used
/// again; with `shards` also until its shard, and those reduced before, are whole.
struct ReductionWait {
  When when = When::always;
  bool shards = false;
};
void await_reduction(RoleDraft& draft, Bucket& bucket, const ReductionWait& wait);

/// Names of the communicators over the ranks that hold a bucket, and over those that share the
/// parts of it.
const char* replica_comm(const Bucket& bucket);
const char* shard_comm(const RoleDraft& draft, const Bucket& bucket);

/// The stream of reductions: one of its own, or compute where they do not overlap.
Stream reduction_stream_of(const RoleDraft& draft);

}  // namespace windtunnel
