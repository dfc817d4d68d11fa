#pragma once
// The two ends of the model: token and position embedding on the first chunk, final norm, output
// head and loss on the last.
//
// Both are vocabulary-parallel over tp (Megatron-LM core/tensor_parallel): the embedding masks
// foreign rows and reduces; the loss needs three all-reduces of one fp32 value per token (maximum,
// target logit, sum of exponentials) instead of the logits.

#include "plan/chunked_loss.h"
#include "plan/layer_sizes.h"
#include "plan/parallel_linear.h"
#include "plan/parameters.h"

namespace windtunnel {

class EmbeddingEnd {
 public:
  EmbeddingEnd(RoleDraft& draft, ChunkParameters& parameters)
      : d_(draft), params_(parameters), z_(draft) {}

  void declare_parameters();
  SlotId forward();                   // -> (Ts, h)
  void backward(SlotId output_grad);  // (Ts, h)
  ParameterId word_embedding() const { return word_; }

 private:
  RoleDraft& d_;
  ChunkParameters& params_;
  LayerSizes z_;
  ParameterId word_ = 0, position_ = 0;
  SlotId tokens_ = kNone, mask_ = kNone;
};

class HeadEnd {
 public:
  HeadEnd(RoleDraft& draft, ChunkParameters& parameters)
      : d_(draft), params_(parameters), z_(draft), chunked_(draft, parameters) {}

  /// `shared` is the embedding's parameter when one rank holds both ends of a tied model.
  void declare_parameters(const ParameterId* shared);
  /// Final norm, logits and loss; adds to the role's static `loss` slot.
  void forward(SlotId input, SlotId loss);
  SlotId backward();  // -> gradient of the input (Ts, h)

 private:
  Linear head() const;
  void forward_loss(SlotId logits, SlotId loss);
  SlotId gather_logits(SlotId logits);
  SlotId logits_gradient();
  SlotId norm_input_gradient(SlotId norm_grad);
  std::int64_t blocks() const;  // vocabulary parts the loss sees on one rank

  RoleDraft& d_;
  ChunkParameters& params_;
  LayerSizes z_;
  ParameterId norm_weight_ = 0, norm_bias_ = 0, weight_ = 0;
  SlotId input_ = kNone, norm_ = kNone, norm_stats_ = kNone, normalized_ = kNone;
  ChunkedLoss chunked_;
  LinearInput input_to_head_;
  SlotId labels_ = kNone, probs_ = kNone, sum_ = kNone;
  SlotId logits_ = kNone, max_ = kNone;  // a compiled loss makes its gradient from these
  SlotId gathered_logits_ =
      kNone;  // the model's output, which the pipeline engine keeps for backward
};

}  // namespace windtunnel
