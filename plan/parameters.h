#pragma once
// The parameters of one role: which tensors a chunk holds, how they are laid out in flat buffers,
// and the buckets their gradients are reduced in.
//
// As in Megatron-LM's param_and_grad_buffer and DeepSpeed's flat groups, every chunk has one flat
// weight buffer and one flat gradient buffer, cut into buckets. Parameters lie in reverse order of
// use, so that the gradients that are ready first lie in the first bucket. A bucket closes when it
// holds at least `plan.bucket` elements; it is padded so that dp shards of it are equal. The tied
// word embedding has a bucket of its own, so that both its copies are sharded alike.

#include <string>
#include <vector>

#include "plan/role_draft.h"

namespace windtunnel {

struct ParameterSlots {
  SlotId weight = kNone;
  SlotId grad = kNone;       // view of the accumulation buffer
  SlotId half_grad = kNone;  // HalfGrads::kept: a half-precision gradient beside it
};

using ParameterId = std::size_t;

struct ParameterRequest {
  Param param;  // name filled by the layout
  std::string name;
  int contributions = 1;  // gradient kernels per backward pass that add to it
  bool partial_over_tp =
      false;  // replicated, but each tp rank sees other tokens: needs a sum over tp
};

struct Bucket {
  std::vector<ParameterId> parameters;
  std::int64_t elements = 0;  // padded
  SlotId weights = kNone, grads = kNone;
  SlotId weight_shard = kNone, grad_shard = kNone;  // this rank's part under ZeRO-1, else the whole
  SlotId master = kNone, momentum = kNone, variance = kNone;
  std::uint32_t reduced = kNone;   // event: gradients are reduced (asynchronous reduction)
  std::uint32_t gathered = kNone;  // event: weights are gathered (asynchronous gather)
  bool tied = false;
  int waiting = 0;  // gradient contributions not yet drafted
};

class ChunkParameters {
 public:
  ParameterId declare(ParameterRequest request);
  /// Creates buffers, buckets and views. Called once, after all declarations.
  void lay_out(RoleDraft& draft, bool one_bucket);

  const ParameterSlots& slots(ParameterId id) const { return slots_[id]; }
  const ParameterRequest& request(ParameterId id) const { return requests_[id]; }
  std::size_t size() const { return requests_.size(); }
  std::vector<Bucket>& buckets() { return buckets_; }
  const std::vector<Bucket>& buckets() const { return buckets_; }

  /// Drafts the asynchronous reduction of the bucket whose last gradient this contribution
  /// completes.
  void gradient_drafted(RoleDraft& draft, ParameterId id);
  /// Drafts the wait of the first micro-batch's forward for the gathered bucket of this parameter.
  void before_use(RoleDraft& draft, ParameterId id);

 private:
  void make_bucket(RoleDraft& draft, const std::vector<ParameterId>& members, int index);
  std::vector<ParameterRequest> requests_;
  std::vector<ParameterSlots> slots_;
  std::vector<std::size_t> bucket_of_;
  std::vector<Bucket> buckets_;
  std::vector<bool> awaited_;  // per bucket: before_use already drafted
};

/// Elements of a parameter on one tp rank.
std::int64_t local_elements(const Param& param, int tp);

/// The reduction of one bucket: reduce-scatter of its gradients under ZeRO-1, else all-reduce.
void draft_bucket_reduction(RoleDraft& draft, const Bucket& bucket, Stream stream, When when);

}  // namespace windtunnel
