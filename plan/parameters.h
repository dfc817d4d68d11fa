#pragma once
// The parameters of one role: which tensors a chunk holds, how they are laid out in flat buffers,
// and the buckets their gradients are reduced in.
//
// As in Megatron-LM's param_and_grad_buffer and DeepSpeed's flat groups, every chunk has one flat
// weight buffer and one flat gradient buffer, cut into buckets. Parameters lie in reverse order of
// use, so that the gradients that are ready first lie in the first bucket. A bucket closes when it
// holds at least `plan.bucket` elements; it is padded so that the shards of it are equal. The tied
// word embedding has a bucket of its own, so that both its copies are sharded alike. Where weights
// are sharded, buckets are units (plan/sharded_units.h).

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "plan/bucket.h"
#include "plan/quantized_operand.h"
#include "plan/role_draft.h"

namespace windtunnel {

struct ParameterSlots {
  SlotId weight = kNone;
  SlotId grad = kNone;       // view of the accumulation buffer, or a tensor of one micro-batch
  SlotId half_grad = kNone;  // HalfGrads::kept: a half-precision gradient beside it
};

struct ParameterRequest {
  Param param;  // name filled by the layout
  std::string name;
  int contributions = 1;  // gradient kernels per backward pass that add to it
  bool partial_over_tp =
      false;  // replicated, but each tp rank sees other tokens: needs a sum over tp
  bool adapter = false;
  bool frozen = false;  // filled by `declare`: not an adapter where adapters are trained
};

/// A matrix product that makes a weight gradient, put off to a segment of its own.
struct DeferredWeightGrad {
  ParameterId weight = 0;
  std::int64_t in = 0, out = 0;  // K and N of this rank
  std::int64_t groups = 0;       // experts side by side; 0: a product of its own
  Module module = Module::mlp;
  SlotId output_grad = kNone, input = kNone;
  OperandList scales;  // of their blocks
  std::int16_t layer = -1;
};

class ChunkParameters {
 public:
  explicit ChunkParameters(const RoleDraft& draft) : adapters_only_(draft.plan().lora) {}
  ParameterId declare(ParameterRequest request);
  /// Creates buffers, buckets and views. Called once, after all declarations.
  void lay_out(RoleDraft& draft, bool one_bucket);

  const ParameterSlots& slots(ParameterId id) const { return slots_[id]; }
  /// The weight in the narrow type its products take, once it was quantised.
  QuantizedOperand& quantized(ParameterId id) { return quantized_[id]; }
  const ParameterRequest& request(ParameterId id) const { return requests_[id]; }
  std::size_t size() const { return requests_.size(); }
  /// Parameters that the optimizer updates.
  std::size_t trained() const {
    return static_cast<std::size_t>(std::count_if(
        requests_.begin(), requests_.end(), [](const ParameterRequest& r) { return !r.frozen; }));
  }
  std::vector<Bucket>& buckets() { return buckets_; }
  const std::vector<Bucket>& buckets() const { return buckets_; }

  /// Attributes of a kernel that adds to this parameter's gradient: the first of a micro-batch
  /// overwrites a gradient that is a tensor of the micro-batch.
  std::uint16_t gradient_attr(const RoleDraft& draft, ParameterId id) const;
  /// For kernels that can only add: zeroes such a gradient before the first of them.
  void prepare_gradient(RoleDraft& draft, ParameterId id);
  /// A contribution is drafted. The last of a parameter goes on to the bucket, the last of a bucket
  /// starts its reduction where that is asynchronous.
  void gradient_drafted(RoleDraft& draft, ParameterId id);
  /// Backward is drafted anew, another way: nothing has contributed yet.
  void restart_backward();
  /// Puts weight gradients, and reductions that could start before them, off into `list`.
  void defer(std::vector<DeferredWeightGrad>* list) { deferred_ = list; }
  std::vector<DeferredWeightGrad>* deferred() const { return deferred_; }
  /// Starts the reductions that were put off.
  void start_put_off_reductions(RoleDraft& draft);
  /// A replicated parameter's gradient of each tp rank's own tokens becomes whole before it is cut.
  void reduce_over_tp(RoleDraft& draft, ParameterId id, When when);
  /// Waits for what is still being reduced to shards.
  void end_backward(RoleDraft& draft);
  /// Drafts the wait of the first micro-batch's forward for the gathered bucket of this parameter.
  void before_use(RoleDraft& draft, ParameterId id);

 private:
  void lay_out_units(RoleDraft& draft);
  struct Kept {
    bool parted = false, frozen = false;
  };
  void lay_out_buckets(RoleDraft& draft, bool one_bucket, const Kept& kept);
  void make_weights(RoleDraft& draft, Bucket& bucket, const std::string& suffix);
  void make_events(RoleDraft& draft, Bucket& bucket, const std::string& suffix);
  void make_bucket(RoleDraft& draft, const std::vector<ParameterId>& members, int key);
  void make_buffers(RoleDraft& draft, Bucket& bucket, const std::string& suffix);
  void make_states(RoleDraft& draft, Bucket& bucket, const std::string& suffix);
  void make_views(RoleDraft& draft, Bucket& bucket);
  void make_gradient(RoleDraft& draft, const Bucket& bucket, ParameterId id, ParameterSlots& slots);
  void bucket_ready(RoleDraft& draft, std::size_t index);

  bool adapters_only_;
  std::vector<ParameterRequest> requests_;
  std::vector<ParameterSlots> slots_;
  std::vector<QuantizedOperand> quantized_;
  std::vector<std::size_t> bucket_of_;
  std::vector<std::int64_t> offset_;  // in the bucket
  std::vector<int> drafted_;          // contributions, per parameter
  std::vector<Bucket> buckets_;
  std::vector<DeferredWeightGrad>* deferred_ = nullptr;
  std::vector<std::size_t> put_off_;      // buckets complete while weight gradients were put off
  std::optional<std::size_t> in_flight_;  // the bucket that is being reduced to a shard
  std::vector<bool> awaited_;             // per bucket: before_use already drafted
};

/// Elements of a parameter on one rank.
std::int64_t local_elements(const Param& param, int tp);

}  // namespace windtunnel
