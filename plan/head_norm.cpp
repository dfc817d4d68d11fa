#include "plan/head_norm.h"

#include <string>

namespace windtunnel {

HeadNorms::HeadNorms(RoleDraft& draft, ChunkParameters& parameters, int layer)
    : d_(draft), params_(parameters), z_(draft), layer_(layer) {
  q_ = {.name = "q_norm", .offset = 0, .columns = z_.query};
  k_ = {.name = "k_norm", .offset = z_.query, .columns = z_.kv_heads * z_.head_dim};
}

void HeadNorms::declare_parameters() {
  for (Heads* heads : {&q_, &k_}) {
    heads->weight = params_.declare(
        {.param = {.rows = z_.head_dim,
                   .cols = 1,
                   .padded_rows = z_.head_dim,
                   .shard_dim = -1,
                   .init = Param::Init::ones,
                   .layer = static_cast<std::int16_t>(layer_)},
         .name = "layers." + std::to_string(layer_) + "." + heads->name + ".weight",
         .contributions = 1,
         .partial_over_tp = d_.plan().tp > 1});  // every tp rank has heads of its own
  }
}

HeadNorms::Heads HeadNorms::values() const {
  return {.name = "v", .offset = k_.offset + k_.columns, .columns = k_.columns};
}

SlotId HeadNorms::forward(SlotId qkv) {
  qkv_ = qkv;
  const bool copied = !d_.rules().separate_qkv;
  for (Heads* heads : {&q_, &k_}) {
    heads->raw = columns_of(qkv, heads->name, *heads, copied);
    heads->normed = norm_forward(
        d_, params_,
        {.input = heads->raw, .weight = heads->weight, .name = heads->name, .width = z_.head_dim});
  }
  const SlotId v = columns_of(qkv, "v", values(), false);
  return joined(q_.normed.output, k_.normed.output, v, "qkv_normed", false);
}

SlotId HeadNorms::backward(SlotId dqkv) {
  const bool copied = !d_.rules().separate_qkv;
  const auto gradient = [&](const Heads& heads) {
    return norm_backward(d_, params_,
                         {.output_grad = columns_of(dqkv, heads.name, heads, false),
                          .input = heads.raw,
                          .stats = heads.normed.stats,
                          .normalized = heads.normed.normalized,
                          .weight = heads.weight,
                          .width = z_.head_dim});
  };
  const SlotId dk = gradient(k_);
  const SlotId dq = gradient(q_);
  const SlotId dv = columns_of(dqkv, "dv", values(), false);
  const SlotId result = joined(dq, dk, dv, "dqkv_raw", copied);
  if (copied) d_.hold(qkv_);  // what the values were a view of
  return result;
}

/// These columns of every row: a copy, or a tensor that was there before they were joined.
SlotId HeadNorms::columns_of(SlotId qkv, const char* name, const Heads& heads, bool copied) {
  const SlotId y = d_.tensor(name, z_.rows * heads.columns, z_.act);
  const std::int64_t part = d_.slot(y).bytes(), whole = d_.slot(qkv).bytes();
  d_.kernel({.kernel = Kernel::columns_to_blocks,
             .dims = {z_.rows, z_.qkv, heads.columns, heads.offset, 1},
             .module = Module::attention,
             .launches = copied ? 1 : 0,
             .continues = !copied,
             .extra_bytes = copied ? part - whole : -part - whole},
            {qkv}, {y});
  return y;
}

SlotId HeadNorms::joined(SlotId q, SlotId k, SlotId v, const char* name, bool copied) {
  const SlotId y = d_.tensor(name, z_.rows * z_.qkv, z_.act);
  d_.kernel({.kernel = Kernel::blocks_to_columns,
             .dims = {z_.rows, z_.qkv, 1},
             .module = Module::attention,
             .launches = copied ? 1 : 0,
             .continues = !copied,
             .extra_bytes = copied ? 0 : -2 * d_.slot(y).bytes()},
            {q, k, v}, {y});
  return y;
}

}  // namespace windtunnel
