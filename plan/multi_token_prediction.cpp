#include "plan/multi_token_prediction.h"

#include "plan/columns.h"

namespace windtunnel {

namespace {

/// Its layer follows the model's, and is like the last of them.
LayerPlace layer_place(const RoleDraft& d, int depth, int index_in_stage) {
  const int layers = static_cast<int>(d.model().layers);
  return {.layer = layers + depth - 1, .index_in_stage = index_in_stage, .like = layers - 1};
}

}  // namespace

TokenPrediction::TokenPrediction(RoleDraft& draft, ChunkParameters& parameters, int depth,
                                 int index_in_stage)
    : d_(draft),
      params_(parameters),
      z_(draft),
      layer_(static_cast<std::int16_t>(draft.model().layers + depth - 1)),
      embedding_(draft, parameters, depth),
      transformer_(draft, parameters, layer_place(draft, depth, index_in_stage)),
      head_(draft, parameters, depth) {}

void TokenPrediction::declare_parameters(ParameterId word) {
  const Model& m = d_.model();
  const std::string prefix = "layers." + std::to_string(layer_) + ".mtp.";
  const auto declare = [&](const char* name, std::int64_t cols, bool cut, Param::Init init) {
    return params_.declare({.param = {.rows = m.hidden,
                                      .cols = cols,
                                      .padded_rows = m.hidden,
                                      .shard_dim = cut ? 0 : -1,
                                      .blocks = {cut ? m.hidden : 0},
                                      .init = init,
                                      .layer = layer_},
                            .name = prefix + name,
                            .contributions = 1,
                            .partial_over_tp = d_.plan().sequence_parallel && !cut});
  };
  const auto declare_norm = [&](const char* weight, const char* bias, ParameterId& weight_id,
                                ParameterId& bias_id) {
    weight_id = declare(weight, 1, false, Param::Init::ones);
    if (m.norm == NormKind::layernorm) bias_id = declare(bias, 1, false, Param::Init::zeros);
  };
  embedding_.share_word_embedding(word);
  declare_norm("embedding_norm.weight", "embedding_norm.bias", embedding_norm_weight_,
               embedding_norm_bias_);
  declare_norm("hidden_norm.weight", "hidden_norm.bias", hidden_norm_weight_, hidden_norm_bias_);
  projection_ = declare("projection.weight", 2 * m.hidden, true, Param::Init::normal);
  transformer_.declare_parameters();
  head_.declare_norm();
}

Linear TokenPrediction::projection() const {
  return {.weight = projection_,
          .in = 2 * z_.hidden,
          .out = z_.hidden / d_.plan().tp,
          .module = Module::embedding,
          .quantized = transformer_.quantized()};
}

SlotId TokenPrediction::forward(SlotId hidden) {
  d_.layer = layer_;
  hidden_ = hidden;
  embedded_ = embedding_.forward();
  embedded_norm_ = norm_forward(d_, params_,
                                {.input = embedded_,
                                 .weight = embedding_norm_weight_,
                                 .bias = embedding_norm_bias_,
                                 .name = "embedding_norm"});
  hidden_norm_ = norm_forward(d_, params_,
                              {.input = hidden_,
                               .weight = hidden_norm_weight_,
                               .bias = hidden_norm_bias_,
                               .name = "hidden_norm"});
  const SlotId joined = join_columns(d_, {embedded_norm_.output, hidden_norm_.output},
                                     {.rows = z_.norm_rows,
                                      .width = projection().in,
                                      .name = "joined",
                                      .module = Module::embedding});
  joined_ = column_input(d_, z_, projection(), joined, MadeBy::other);
  const SlotId x = gather_columns(linear_forward(d_, params_, projection(), joined_, "projected"));
  const SlotId y = transformer_.forward(x);
  d_.layer = layer_;
  const SlotId normed = head_.normalize(y);
  d_.layer = -1;
  return normed;
}

/// (T, h/tp) -> (Ts, h)
SlotId TokenPrediction::gather_columns(SlotId part) {
  const int tp = d_.plan().tp;
  if (tp == 1) return part;
  const std::int64_t n = z_.rows * z_.hidden;
  const SlotId parts = d_.tensor("projected_parts", n, z_.act);
  d_.collective({.collective = Collective::all_gather,
                 .reduce = ReduceOp::none,
                 .comm = d_.comm("tp"),
                 .module = Module::embedding},
                part, parts, n);
  const SlotId whole = d_.tensor("projected_whole", n, z_.act);
  d_.kernel({.kernel = Kernel::blocks_to_columns,
             .dims = {z_.rows, z_.hidden, tp},
             .module = Module::embedding},
            {parts}, {whole});
  return d_.plan().sequence_parallel ? d_.tp_part(whole, "projected_rows") : whole;
}

/// (Ts, h) -> (T, h/tp)
SlotId TokenPrediction::own_columns(SlotId dx) {
  const int tp = d_.plan().tp;
  if (tp == 1) return dx;
  const SlotId whole = gather_rows(d_, z_, dx, z_.hidden);
  const SlotId parts = d_.tensor("dprojected_parts", z_.rows * z_.hidden, z_.act);
  // Only this rank's columns are copied in the framework.
  const std::int64_t bytes = d_.slot(parts).bytes();
  d_.kernel({.kernel = Kernel::columns_to_blocks,
             .dims = {z_.rows, z_.hidden, z_.hidden, 0, tp},
             .module = Module::embedding,
             .extra_bytes = 2 * (bytes / tp - bytes)},
            {whole}, {parts});
  return d_.tp_part(parts, "dprojected");
}

SlotId TokenPrediction::backward(SlotId dhidden) {
  d_.layer = layer_;
  const SlotId dy = head_.backward_norm(dhidden);
  const SlotId dx = transformer_.backward(dy);
  d_.layer = layer_;
  const SlotId djoined = column_backward(d_, params_, z_, projection(),
                                         {.output_grad = own_columns(dx), .input = joined_});
  const auto half = [&](std::int64_t offset, std::string_view name) {
    return take_columns(d_, djoined,
                        {.rows = z_.norm_rows,
                         .width = projection().in,
                         .offset = offset,
                         .columns = z_.hidden,
                         .name = name,
                         .module = Module::embedding});
  };
  const SlotId dembedded_norm = half(0, "dembedding_norm");
  const SlotId dhidden_norm = half(z_.hidden, "dhidden_norm");
  const SlotId dbefore = norm_backward(d_, params_,
                                       {.output_grad = dhidden_norm,
                                        .input = hidden_,
                                        .stats = hidden_norm_.stats,
                                        .normalized = hidden_norm_.normalized,
                                        .weight = hidden_norm_weight_,
                                        .bias = hidden_norm_bias_});
  embedding_.backward(norm_backward(d_, params_,
                                    {.output_grad = dembedded_norm,
                                     .input = embedded_,
                                     .stats = embedded_norm_.stats,
                                     .normalized = embedded_norm_.normalized,
                                     .weight = embedding_norm_weight_,
                                     .bias = embedding_norm_bias_}));
  d_.layer = -1;
  return dbefore;
}

}  // namespace windtunnel
