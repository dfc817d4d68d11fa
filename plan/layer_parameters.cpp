#include "plan/transformer_layer.h"

// What a transformer layer holds: its parameters, and the linear layers made of them.

namespace windtunnel {

void TransformerLayer::declare_parameters() {
  const Model& m = d_.model();
  const bool sp = d_.plan().sequence_parallel;
  const std::string prefix = "layers." + std::to_string(layer_) + ".";
  using Init = Param::Init;
  auto declare = [&](const char* name, std::int64_t rows, std::int64_t cols, int shard_dim,
                     std::array<std::int64_t, 3> blocks, Init init) {
    Param param{.rows = rows,
                .cols = cols,
                .padded_rows = rows,
                .shard_dim = shard_dim,
                .blocks = blocks,
                .init = init,
                .layer = static_cast<std::int16_t>(layer_)};
    return params_.declare({.param = param,
                            .name = prefix + name,
                            .contributions = 1,
                            .partial_over_tp = sp && shard_dim < 0});
  };
  const bool ln = m.norm == NormKind::layernorm;
  const std::int64_t h = m.hidden, q = m.query_width(), kv = m.kv_width(), f = m.ffn;
  p_.norm1_weight = declare("norm1.weight", h, 1, -1, {}, Init::ones);
  if (ln) p_.norm1_bias = declare("norm1.bias", h, 1, -1, {}, Init::zeros);
  if (latent_) {
    latent_->declare_parameters();
  } else {
    p_.qkv_weight = declare("qkv.weight", q + 2 * kv, h, 0, {q, kv, kv}, Init::normal);
    if (m.bias || m.qkv_bias)
      p_.qkv_bias = declare("qkv.bias", q + 2 * kv, 1, 0, {q, kv, kv}, Init::zeros);
    if (head_norms_) head_norms_->declare_parameters();
  }
  const std::int64_t context = z_.query * d_.plan().tp;
  p_.o_weight = declare("o.weight", h, context, 1, {context}, Init::normal);
  if (m.bias) p_.o_bias = declare("o.bias", h, 1, -1, {}, Init::zeros);
  if (!parallel_) {
    p_.norm2_weight = declare("norm2.weight", h, 1, -1, {}, Init::ones);
    if (ln) p_.norm2_bias = declare("norm2.bias", h, 1, -1, {}, Init::zeros);
  }
  if (experts_) return experts_->declare_parameters();
  const std::array<std::int64_t, 3> fc1_blocks =
      m.gated() ? std::array<std::int64_t, 3>{f, f, 0} : std::array<std::int64_t, 3>{f, 0, 0};
  const std::int64_t fc1_rows = m.gated() ? 2 * f : f;
  p_.fc1_weight = declare("fc1.weight", fc1_rows, h, 0, fc1_blocks, Init::normal);
  if (m.bias) p_.fc1_bias = declare("fc1.bias", fc1_rows, 1, 0, fc1_blocks, Init::zeros);
  p_.fc2_weight = declare("fc2.weight", h, f, 1, {f}, Init::normal);
  if (m.bias) p_.fc2_bias = declare("fc2.bias", h, 1, -1, {}, Init::zeros);
  if (frozen_)
    adapters_ =
        make_adapters(d_, params_, layer_, {.qkv = qkv(), .o = o(), .fc1 = fc1(), .fc2 = fc2()});
}

Linear TransformerLayer::qkv() const {
  return {.weight = p_.qkv_weight,
          .bias = p_.qkv_bias,
          .has_bias = d_.model().bias || d_.model().qkv_bias,
          .in = z_.hidden,
          .out = z_.qkv,
          .module = Module::attention,
          .frozen = frozen_,
          .quantized = quantized_,
          .overlapped = d_.plan().overlap_tp};
}
Linear TransformerLayer::o() const {
  return {.weight = p_.o_weight,
          .in = z_.query,
          .out = z_.hidden,
          .module = Module::attention,
          .frozen = frozen_,
          .quantized = quantized_,
          .overlapped = d_.plan().overlap_tp};
}
Linear TransformerLayer::fc1() const {
  return {.weight = p_.fc1_weight,
          .bias = p_.fc1_bias,
          .has_bias = d_.model().bias,
          .in = z_.hidden,
          .out = z_.fc1,
          .module = Module::mlp,
          .parts = d_.model().gated() && d_.rules().split_gated_linear ? 2 : 1,
          .frozen = frozen_,
          .quantized = quantized_,
          .overlapped = d_.plan().overlap_tp};
}
Linear TransformerLayer::fc2() const {
  return {.weight = p_.fc2_weight,
          .in = z_.ffn,
          .out = z_.hidden,
          .module = Module::mlp,
          .frozen = frozen_,
          .quantized = quantized_,
          .overlapped = d_.plan().overlap_tp};
}

}  // namespace windtunnel
