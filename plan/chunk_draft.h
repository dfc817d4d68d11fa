#pragma once
// One model chunk of a role: its parameters and its segments (receive, forward, send; receive
// gradient, backward, send gradient).

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/activation_offload.h"
#include "plan/model_ends.h"
#include "plan/multi_token_prediction.h"
#include "plan/sharded_units.h"
#include "plan/transformer_layer.h"

namespace windtunnel {

/// The calls a micro-batch makes on a chunk, in the order they run.
enum class ChunkCall : std::uint8_t {
  receive_input,
  forward,
  send_output,
  finish_send_output,
  receive_grad,
  backward,
  input_grad,  // a backward without its weight gradients,
  send_grad,
  finish_send_grad,
  weight_grad,   // which follow later
  reduce_grads,  // behind the last micro-batch
  count
};

/// Where a chunk stands in the pipeline.
struct ChunkPlace {
  Chunk chunk;
  std::int16_t local = 0;  // index within the role
  int previous_role = -1;  // role that holds the chunk before, -1 for the model's first
  int next_role = -1;
  int previous_local = -1, next_local = -1;  // the neighbour's index, when this role holds it
  int first_layer_in_stage = 0;              // layers of the role's earlier chunks
};

class ChunkDraft {
 public:
  ChunkDraft(RoleDraft& draft, const ChunkPlace& place);

  /// Drafts forward and backward. `loss` is the role's static loss slot (last chunk only, else
  /// kNone).
  void draft_passes(SlotId loss);
  /// Drafts transfers, once the passes of all chunks are drafted.
  void draft_transfers(const std::vector<std::unique_ptr<ChunkDraft>>& chunks_of_role);
  /// Where memory is taken and given back, once the transfers of all chunks are drafted.
  void place_memory();
  /// Stores the segment of a call; a grouped transfer starts together with the transfer issued
  /// before it. kNone when the chunk makes no such call.
  std::uint32_t segment(ChunkCall call, bool grouped);

  ChunkParameters& parameters() { return parameters_; }
  const ChunkPlace& place() const { return place_; }

 private:
  void declare_head();
  void draft_forward(SlotId loss);
  void draft_head(SlotId hidden, SlotId loss);
  SlotId draft_head_backward();
  void draft_backward(ChunkCall call);
  void draft_split_backward();
  void draft_reductions();
  void draft_receive(ChunkCall call, SlotId slot, int peer);
  void draft_send(ChunkCall call, SlotId slot, int peer);
  void draft_hand_over(ChunkCall call, SlotId from, SlotId to);
  /// Under scatter/gather (SC21, 2104.04473 section 4.1) each tp rank sends its 1/tp and gathers
  /// after.
  bool scatters(ChunkCall call) const;
  bool is_up(ChunkCall call) const;
  Stream transfer_stream(ChunkCall call) const;
  std::uint32_t transfer_comm(ChunkCall call) const;
  SegmentDraft& open(ChunkCall call, std::string_view name);
  /// The whole of a tensor whose parts came, one to each tensor-parallel rank.
  void gather_parts(SlotId whole, const std::string& part);
  /// What a rank does before its part of a tensor is sent.
  void cut_into_parts(const std::string& name);

  RoleDraft& d_;
  ChunkPlace place_;
  ChunkParameters parameters_;
  ShardedUnits units_;
  std::vector<TransformerLayer> layers_;
  std::vector<LayerSpan> spans_;  // by layer
  std::optional<EmbeddingEnd> embedding_;
  std::optional<HeadEnd> head_;
  std::vector<std::unique_ptr<TokenPrediction>> predictions_;  // by depth; the head's chunk
  std::array<SegmentDraft, static_cast<std::size_t>(ChunkCall::count)> drafts_;
  std::array<std::array<std::uint32_t, 2>, static_cast<std::size_t>(ChunkCall::count)> stored_;
  SlotId input_ = kNone, output_ = kNone, output_grad_ = kNone, input_grad_ = kNone;
  std::uint32_t received_input_ = kNone, received_grad_ = kNone;
};

}  // namespace windtunnel
