#pragma once
// Multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2): depth k of D predicts,
// beside the model's own head, the token k + 1 further on, from the hidden state of depth k - 1 and
// the embedding of the token k further on.
//
// As in Megatron-LM core/transformer/multi_token_prediction.py: both are normed, joined (T, 2h) and
// projected to h; a transformer layer of the model's last kind and a final norm follow; embedding
// table and output weight are the model's own. The projection is column-parallel and its output is
// gathered over tp. The losses of all depths are averaged and weigh a tenth of the main one
// (transformer_config.py, mtp_loss_scaling_factor).

#include <string>

#include "plan/elementwise.h"
#include "plan/model_ends.h"
#include "plan/transformer_layer.h"

namespace windtunnel {

class TokenPrediction {
 public:
  /// `depth` from 1 to D; `index_in_stage`: of its layer, for `recompute.layers`.
  TokenPrediction(RoleDraft& draft, ChunkParameters& parameters, int depth, int index_in_stage);

  /// The number of its layer: those of predictions follow the model's.
  int layer() const { return layer_; }
  /// `word`: the embedding table this chunk holds.
  void declare_parameters(ParameterId word);
  /// `output`: the weight of the model's head.
  void share_output(ParameterId output) { head_.share_weight(output); }
  /// The hidden state before (Ts, h) -> this depth's, normed (Ts, h).
  SlotId forward(SlotId hidden);
  void forward_loss(SlotId loss) { head_.forward_loss(loss); }
  /// -> gradient of this depth's hidden state, by its own loss.
  SlotId backward_loss() { return head_.backward_loss(); }
  /// Gradient of this depth's hidden state -> of the one before.
  SlotId backward(SlotId dhidden);

 private:
  Linear projection() const;
  SlotId gather_columns(SlotId part);
  SlotId own_columns(SlotId whole);

  RoleDraft& d_;
  ChunkParameters& params_;
  LayerSizes z_;
  std::int16_t layer_;
  EmbeddingEnd embedding_;
  TransformerLayer transformer_;
  HeadEnd head_;
  ParameterId embedding_norm_weight_ = 0, embedding_norm_bias_ = 0, hidden_norm_weight_ = 0,
              hidden_norm_bias_ = 0, projection_ = 0;
  SlotId embedded_ = kNone, hidden_ = kNone;
  NormResult embedded_norm_, hidden_norm_;
  LinearInput joined_;
};

}  // namespace windtunnel
