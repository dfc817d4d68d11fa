#include "plan/head_norm.h"

#include <string>

namespace windtunnel {

HeadNorms::HeadNorms(RoleDraft& draft, ChunkParameters& parameters, int layer)
    : d_(draft), params_(parameters), z_(draft), layer_(layer) {
  const std::int64_t keys = z_.kv_heads * z_.head_dim;
  q_.columns = {.name = "q_norm", .offset = 0, .count = z_.query};
  k_.columns = {.name = "k_norm", .offset = z_.query, .count = keys};
  v_ = {.name = "v", .offset = z_.query + keys, .count = keys};
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
         .name = "layers." + std::to_string(layer_) + "." + heads->columns.name + ".weight",
         .contributions = 1,
         .partial_over_tp = d_.plan().tp > 1});  // every tp rank has heads of its own
  }
}

SlotId HeadNorms::taken(SlotId qkv, const Columns& columns, ColumnMove move) {
  return take_columns(d_, qkv,
                      {.rows = z_.rows,
                       .width = z_.qkv,
                       .offset = columns.offset,
                       .columns = columns.count,
                       .name = columns.name,
                       .module = Module::attention,
                       .move = move});
}

SlotId HeadNorms::joined(const OperandList& qkv, std::string_view name, ColumnMove move) {
  return join_columns(
      d_, qkv,
      {.rows = z_.rows, .width = z_.qkv, .name = name, .module = Module::attention, .move = move});
}

ColumnMove HeadNorms::by_stack() const {
  return d_.rules().separate_qkv ? ColumnMove::in_place : ColumnMove::copied;
}

SlotId HeadNorms::forward(SlotId qkv) {
  qkv_ = qkv;
  for (Heads* heads : {&q_, &k_}) {
    heads->raw = taken(qkv, heads->columns, by_stack());
    heads->normed = norm_forward(d_, params_,
                                 {.input = heads->raw,
                                  .weight = heads->weight,
                                  .name = heads->columns.name,
                                  .width = z_.head_dim});
  }
  const SlotId v = taken(qkv, v_, ColumnMove::in_place);
  return joined({q_.normed.output, k_.normed.output, v}, "qkv_normed", ColumnMove::in_place);
}

SlotId HeadNorms::backward(SlotId dqkv) {
  const auto gradient = [&](const Heads& heads) {
    return norm_backward(d_, params_,
                         {.output_grad = taken(dqkv, heads.columns, ColumnMove::in_place),
                          .input = heads.raw,
                          .stats = heads.normed.stats,
                          .normalized = heads.normed.normalized,
                          .weight = heads.weight,
                          .width = z_.head_dim});
  };
  const SlotId dk = gradient(k_);
  const SlotId dq = gradient(q_);
  const SlotId dv = taken(dqkv, v_, ColumnMove::in_place);
  const SlotId result = joined({dq, dk, dv}, "dqkv_raw", by_stack());
  if (by_stack() == ColumnMove::copied) d_.hold(qkv_);  // what the values were a view of
  return result;
}

}  // namespace windtunnel
