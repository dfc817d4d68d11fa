#pragma once
// A bucket: parameters whose weights, gradients and states lie and travel together.
//
// Whole replicas and ZeRO-1 keep weights and gradients in flat static buffers. ZeRO-2 keeps no
// gradients: each exists from the kernel that makes it until the bucket is reduced to shards.
// Where weights are sharded too (ZeRO-3, FSDP) a bucket is a *unit*, one layer or an end of the
// model, and its weights are whole only between a gather and a release.
//
// Weights that are frozen (plan.lora) have neither gradients nor states: a bucket of their own, or
// the first part of a unit, which is gathered whole and whose trained part alone is reduced.
//
// Experts that ranks of an expert group hold apart lie in buckets of their own (Megatron-LM,
// param_and_grad_buffer: dense and expert-parallel buffers): their replicas are other ranks.

#include <cstdint>
#include <vector>

#include "plan/role_draft.h"

namespace windtunnel {

using ParameterId = std::size_t;

/// What a unit holds: a layer by its number, or one of these.
enum UnitKey : int { kEmbeddingUnit = -2, kHeadUnit = -3, kRootUnit = -1 };

/// The first elements of a bucket's shard whose update the host does, in its own memory
/// (plan/host_optimizer.h).
struct HostPart {
  std::int64_t elements = 0;
  SlotId weights = kNone, grads = kNone, master = kNone, momentum = kNone, variance = kNone;
  std::uint32_t arrived = kNone;  // event: its gradients have been copied
};

struct Bucket {
  std::vector<ParameterId> parameters;
  int key = kRootUnit;                // units: the layer or end it holds
  Module module = Module::optimizer;  // of its transfers: where it is an end of the model, that
  std::int64_t elements = 0;          // of what is trained, padded
  std::int64_t filled = 0;            // without the padding at the end
  std::int64_t frozen = 0;            // of weights that are not trained, padded; they lie first
  SlotId weights = kNone;             // whole; static, or of a unit while it is gathered
  SlotId grads = kNone;  // whole; kNone where gradients are reduced in every micro-batch
  SlotId weight_shard = kNone, grad_shard = kNone;  // this rank's part, or the whole
  SlotId frozen_shard = kNone;                      // units: this rank's part of what is frozen
  SlotId updated = kNone;  // of the shard, what the device updates; kNone: the host all of it
  SlotId master = kNone, momentum = kNone, variance = kNone;  // of that
  HostPart host;
  SlotId state_scales = kNone;      // of the blocks of 8-bit states
  SlotId kept_part = kNone;         // units: what stays of the weights between forward and backward
  SlotId reduce_input = kNone;      // gradients on their way into the reduction
  std::uint32_t reduced = kNone;    // event: gradients are reduced (asynchronous reduction)
  std::uint32_t scattered = kNone;  // event: the reduce-scatter has read its input
  std::uint32_t gathered = kNone;   // event: weights are gathered (asynchronous gather)
  bool tied = false;
  bool partial_over_tp = false;  // some of its gradients are each tp rank's of its own tokens
  bool parted = false;           // experts of this rank's place in its expert group
  int ways = 1;              // parts that states, and with them gradients and weights, are cut into
  int step = 1;              // replica places from the rank of one part to that of the next
  bool stays_whole = false;  // units: not released after forward
  int waiting = 0;           // gradient contributions not yet drafted

  bool trained() const { return elements > 0; }
  std::int64_t whole_elements() const { return frozen + elements; }
};

/// Of a layer's unit its layer.
inline std::int16_t layer_of(const Bucket& unit) {
  return static_cast<std::int16_t>(unit.key >= 0 ? unit.key : -1);
}

/// `shard` becomes this rank's of the bucket's equal parts of `whole`.
inline void cut(Slot& shard, SlotId whole, const Bucket& bucket) {
  shard.shard_of = whole;
  shard.dp_ways = bucket.ways;
  shard.dp_step = bucket.step;
}

}  // namespace windtunnel
