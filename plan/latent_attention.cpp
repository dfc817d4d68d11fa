#include "plan/latent_attention.h"

#include <string>

#include "plan/columns.h"
#include "plan/elementwise.h"

namespace windtunnel {

LatentAttention::LatentAttention(RoleDraft& draft, ChunkParameters& parameters, int layer,
                                 bool quantized)
    : d_(draft),
      params_(parameters),
      z_(draft),
      shape_(*draft.model().mla),
      layer_(layer),
      quantized_(quantized) {}

void LatentAttention::declare_parameters() {
  const Model& m = d_.model();
  const std::string prefix = "layers." + std::to_string(layer_) + ".";
  const auto declare = [&](const char* name, std::int64_t rows, std::int64_t cols, bool cut,
                           Param::Init init = Param::Init::normal) {
    return params_.declare({.param = {.rows = rows,
                                      .cols = cols,
                                      .padded_rows = rows,
                                      .shard_dim = cut ? 0 : -1,
                                      .blocks = {cut ? rows : 0},
                                      .init = init,
                                      .layer = static_cast<std::int16_t>(layer_)},
                            .name = prefix + name,
                            .contributions = 1,
                            .partial_over_tp = d_.plan().sequence_parallel && !cut});
  };
  const std::int64_t h = m.hidden, a = m.heads;
  const std::int64_t q = a * (shape_.qk_nope_head_dim + shape_.qk_rope_head_dim);
  if (has_query_latent()) {
    q_down_ = declare("q_down.weight", shape_.q_lora_rank, h, false);
    q_norm_ = declare("q_norm.weight", shape_.q_lora_rank, 1, false, Param::Init::ones);
  }
  q_up_ = declare("q_up.weight", q, has_query_latent() ? shape_.q_lora_rank : h, true);
  kv_down_ = declare("kv_down.weight", shape_.kv_lora_rank + shape_.qk_rope_head_dim, h, false);
  kv_norm_ = declare("kv_norm.weight", shape_.kv_lora_rank, 1, false, Param::Init::ones);
  kv_up_ = declare("kv_up.weight", a * (shape_.qk_nope_head_dim + shape_.v_head_dim),
                   shape_.kv_lora_rank, true);
}

Linear LatentAttention::q_down() const {
  return {.weight = q_down_,
          .in = z_.hidden,
          .out = shape_.q_lora_rank,
          .module = Module::attention,
          .quantized = quantized_};
}
Linear LatentAttention::q_up() const {
  return {.weight = q_up_,
          .in = has_query_latent() ? shape_.q_lora_rank : z_.hidden,
          .out = z_.heads * z_.head_dim,
          .module = Module::attention,
          .quantized = quantized_};
}
Linear LatentAttention::kv_down() const {
  return {.weight = kv_down_,
          .in = z_.hidden,
          .out = shape_.kv_lora_rank + shape_.qk_rope_head_dim,
          .module = Module::attention,
          .quantized = quantized_};
}
Linear LatentAttention::kv_up() const {
  return {.weight = kv_up_,
          .in = shape_.kv_lora_rank,
          .out = z_.heads * (shape_.qk_nope_head_dim + shape_.v_head_dim),
          .module = Module::attention,
          .quantized = quantized_};
}

SlotId LatentAttention::forward(SlotId x) {
  read(x);
  if (has_query_latent()) q_.raw = local_forward(d_, params_, q_down(), q_input_, "q_latent");
  const SlotId down = local_forward(d_, params_, kv_down(), kv_input_, "kv_down");
  kv_.raw = down_columns(down, 0, shape_.kv_lora_rank, "kv_latent");
  rope_keys_ = gather_rows(
      d_, z_, down_columns(down, shape_.kv_lora_rank, shape_.qk_rope_head_dim, "rope_key"),
      shape_.qk_rope_head_dim);
  return project_up();
}

void LatentAttention::input_made_again(SlotId x) {
  read(x);
  if (!has_query_latent()) q_.up = made_again(d_, q_up(), q_.up, x, MadeBy::other);
}

void LatentAttention::read(SlotId x) {
  input_ = x;
  kv_input_ = row_input(d_, kv_down(), x, MadeBy::other);
  if (!has_query_latent()) return;
  q_input_ = quantized_ ? row_input(d_, q_down(), x, MadeBy::other) : kv_input_;
}

/// A query without a latent reads the norm's output itself.
SlotId LatentAttention::project_up() {
  if (has_query_latent()) {
    norm(q_up(), q_norm_, q_, "q_norm");
  } else {
    q_.up = column_input(d_, z_, q_up(), input_, MadeBy::other);
  }
  const SlotId q = linear_forward(d_, params_, q_up(), q_.up, "q_heads");
  norm(kv_up(), kv_norm_, kv_, "kv_norm");
  const SlotId kv = linear_forward(d_, params_, kv_up(), kv_.up, "kv_heads");
  const SlotId heads = d_.tensor("qkv", z_.rows * z_.qkv, z_.act);
  d_.kernel(heads_spec(Kernel::latent_heads_fwd), {q, kv, rope_keys_}, {heads});
  return heads;
}

KernelSpec LatentAttention::heads_spec(Kernel kernel) const {
  return {.kernel = kernel,
          .dims = {z_.rows, z_.heads, shape_.qk_nope_head_dim, shape_.qk_rope_head_dim,
                   shape_.v_head_dim, z_.micro},
          .module = Module::attention};
}

void LatentAttention::norm(const Linear& up, ParameterId weight, Latent& latent,
                           std::string_view name) {
  const NormResult n = norm_forward(d_, params_,
                                    {.input = latent.raw,
                                     .weight = weight,
                                     .name = name,
                                     .width = up.in,
                                     .quantizes = quantized_ && norm_quantizes(d_)});
  latent.stats = n.stats;
  latent.normalized = n.normalized;
  latent.up = column_input(d_, z_, up, n.output, MadeBy::norm);
}

SlotId LatentAttention::norm_back(const Linear& up, ParameterId weight, const Latent& latent,
                                  SlotId dheads) {
  const SlotId dlatent =
      column_backward(d_, params_, z_, up,
                      {.output_grad = dheads, .input = latent.up, .grad_made_by = MadeBy::other});
  return norm_backward(d_, params_,
                       {.output_grad = dlatent,
                        .input = latent.raw,
                        .stats = latent.stats,
                        .normalized = latent.normalized,
                        .weight = weight,
                        .width = up.in});
}

SlotId LatentAttention::backward(SlotId dheads) {
  const std::int64_t rope = shape_.qk_rope_head_dim;
  const SlotId dq = d_.tensor("dq_heads", z_.rows * q_up().out, z_.act);
  const SlotId dkv = d_.tensor("dkv_heads", z_.rows * kv_up().out, z_.act);
  const SlotId drope = d_.tensor("drope_key", z_.rows * rope, z_.act);
  d_.kernel(heads_spec(Kernel::latent_heads_bwd), {dheads}, {dq, dkv, drope});
  const SlotId dkv_latent = norm_back(kv_up(), kv_norm_, kv_, dkv);
  const SlotId dq_in =
      has_query_latent()
          ? norm_back(q_up(), q_norm_, q_, dq)
          : column_backward(d_, params_, z_, q_up(),
                            {.output_grad = dq, .input = q_.up, .grad_made_by = MadeBy::other});
  const SlotId down = join_columns(d_, {dkv_latent, reduce_rows(d_, z_, drope, rope)},
                                   {.rows = z_.norm_rows,
                                    .width = kv_down().out,
                                    .name = "dkv_down",
                                    .module = Module::attention});
  const SlotId dx =
      local_backward(d_, params_, kv_down(), {.output_grad = down, .input = kv_input_});
  const SlotId other =
      has_query_latent()
          ? local_backward(d_, params_, q_down(), {.output_grad = dq_in, .input = q_input_})
          : dq_in;
  d_.kernel({.kernel = Kernel::add, .dims = {d_.slot(dx).elements}, .module = Module::attention},
            {dx, other}, {dx});
  return dx;
}

/// Of what the projection of keys and values down made.
SlotId LatentAttention::down_columns(SlotId down, std::int64_t offset, std::int64_t columns,
                                     std::string_view name) {
  return take_columns(d_, down,
                      {.rows = z_.norm_rows,
                       .width = kv_down().out,
                       .offset = offset,
                       .columns = columns,
                       .name = name,
                       .module = Module::attention});
}

}  // namespace windtunnel
