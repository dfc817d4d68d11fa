#pragma once
// The projections of multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1): in
// place of one qkv product, queries and keys and values are projected down to latents, normed, and
// projected up to heads; a rotary part of the keys is shared by all heads.
//
// As in Megatron-LM core/transformer/multi_latent_attention.py: the down-projections are replicated
// over tp and work on the rows of the norm's region, the up-projections are column-parallel. Where
// the rank of the query's latent is 0 queries are projected from the norm's output at once.

#include "plan/layer_sizes.h"
#include "plan/parallel_linear.h"

namespace windtunnel {

class LatentAttention {
 public:
  LatentAttention(RoleDraft& draft, ChunkParameters& parameters, int layer, bool quantized);

  void declare_parameters();
  /// `x`: the norm's output (Ts, h). -> heads (T, a (2 (n + r) + v)).
  SlotId forward(SlotId x);
  /// Norms, up-projections and rotation of the latents that forward made.
  SlotId project_up();
  /// The norm's output was made again.
  void input_made_again(SlotId x);
  /// -> gradient of the norm's output (Ts, h).
  SlotId backward(SlotId dheads);

 private:
  void read(SlotId x);
  /// A latent (Ts, rank), its norm, and what the up-projection reads.
  struct Latent {
    SlotId raw = kNone, stats = kNone, normalized = kNone;
    LinearInput up;
  };
  bool has_query_latent() const { return shape_.q_lora_rank > 0; }
  Linear q_down() const;
  Linear q_up() const;
  Linear kv_down() const;
  Linear kv_up() const;
  void norm(const Linear& up, ParameterId weight, Latent& latent, std::string_view name);
  SlotId norm_back(const Linear& up, ParameterId weight, const Latent& latent, SlotId dheads);
  SlotId down_columns(SlotId down, std::int64_t offset, std::int64_t columns,
                      std::string_view name);
  KernelSpec heads_spec(Kernel kernel) const;

  RoleDraft& d_;
  ChunkParameters& params_;
  LayerSizes z_;
  MlaShape shape_;
  int layer_;
  bool quantized_;
  ParameterId q_down_ = 0, q_norm_ = 0, q_up_ = 0, kv_down_ = 0, kv_norm_ = 0, kv_up_ = 0;
  SlotId input_ = kNone;            // the norm's output (Ts, h)
  LinearInput q_input_, kv_input_;  // what the down-projections read
  Latent q_, kv_;
  SlotId rope_keys_ = kNone;  // (T, r)
};

}  // namespace windtunnel
