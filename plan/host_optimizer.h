#pragma once
// Master weights and optimizer states in the host's memory (docs/offload.md).
//
// The first elements of every bucket's shard are the host's, the rest the device's. In a step the
// host gets the gradients of its part and what the update depends on (clip coefficient, loss
// scale), updates on its own processors, and sends the new weights back. Gradients leave when all
// of them are whole, or, where the stack does that beside the backward, each bucket's behind its
// reduction. Without overlap copies run on the compute stream: all gradients leave, the host
// updates everything, all weights come back. With it copies have streams of their own and the host
// goes from bucket to bucket.

#include <string>

#include "plan/bucket.h"

namespace windtunnel {

/// What the host's update reads beside gradients: its copies of the clip coefficient and, where
/// gradients are scaled, of found_inf and the loss scale. Empty where nothing is offloaded.
OperandList make_host_scalars(RoleDraft& draft, SlotId coefficient);

/// The host's part of a bucket whose shard is made: its slots, and what is left to the device.
void make_host_part(RoleDraft& draft, Bucket& bucket, const std::string& suffix);

/// The gradients of the host's part are whole on `from` in the last micro-batch: copies them, where
/// the stack does that beside the backward.
void send_gradients_in_backward(RoleDraft& draft, const Bucket& bucket, Stream from);

/// A step of the host, drafted in two parts around the device's own update.
class HostStep {
 public:
  /// Buckets without a host part are left out. `scalars`: of make_host_scalars.
  HostStep(RoleDraft& draft, const std::vector<Bucket*>& buckets, const OperandList& scalars);

  /// Copies the scalars of the update, and gradients that have not left yet.
  void send(SlotId coefficient);
  /// Updates, and brings the weights back: compute goes on behind them.
  void update();

 private:
  Stream out() const { return d_.plan().offload_overlap ? Stream::to_host : Stream::compute; }
  Stream back() const { return d_.plan().offload_overlap ? Stream::to_device : Stream::compute; }
  void update(const Bucket& bucket);
  void bring_back(const Bucket& bucket);

  RoleDraft& d_;
  std::vector<Bucket*> buckets_;
  OperandList scalars_;
  std::uint32_t scalars_arrived_ = kNone;
};

}  // namespace windtunnel
