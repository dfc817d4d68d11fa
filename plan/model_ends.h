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

/// Whose word embedding: the first chunk's, or the copy beside the head on another stage.
enum class WordEmbedding : std::uint8_t { own, copy };
/// Declares the table with as many gradients as there are look-ups and heads that read it.
ParameterId declare_word_embedding(RoleDraft& draft, ChunkParameters& parameters,
                                   WordEmbedding which);

/// `depth` > 0: of a multi-token prediction, whose tokens are so many further on.
class EmbeddingEnd {
 public:
  EmbeddingEnd(RoleDraft& draft, ChunkParameters& parameters, int depth = 0)
      : d_(draft), params_(parameters), z_(draft), depth_(depth) {}

  void declare_parameters();
  void share_word_embedding(ParameterId word) { word_ = word; }
  SlotId forward();                   // -> (Ts, h)
  void backward(SlotId output_grad);  // (Ts, h)
  ParameterId word_embedding() const { return word_; }

 private:
  RoleDraft& d_;
  ChunkParameters& params_;
  LayerSizes z_;
  int depth_;
  ParameterId word_ = 0, position_ = 0;
  SlotId tokens_ = kNone, mask_ = kNone;
};

/// `depth` > 0: of a multi-token prediction.
class HeadEnd {
 public:
  HeadEnd(RoleDraft& draft, ChunkParameters& parameters, int depth = 0)
      : d_(draft), params_(parameters), z_(draft), depth_(depth), chunked_(draft, parameters) {}

  void declare_norm();
  void declare_weight();
  void share_weight(ParameterId weight) { weight_ = weight; }
  ParameterId weight() const { return weight_; }
  /// Final norm: (Ts, h) -> (Ts, h).
  SlotId normalize(SlotId input);
  /// Logits and loss of the normed input; adds to the role's static `loss` slot.
  void forward_loss(SlotId loss);
  SlotId backward_loss();                  // -> gradient of the normed input (Ts, h)
  SlotId backward_norm(SlotId norm_grad);  // -> gradient of the input (Ts, h)

 private:
  Linear head() const;
  void cross_entropy(SlotId logits, SlotId loss);
  SlotId gather_logits(SlotId logits);
  SlotId logits_gradient();
  std::int64_t blocks() const;   // vocabulary parts the loss sees on one rank
  std::int64_t divisor() const;  // of the sum over this micro-batch's tokens

  RoleDraft& d_;
  ChunkParameters& params_;
  LayerSizes z_;
  int depth_;
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
