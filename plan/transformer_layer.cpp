#include "plan/transformer_layer.h"

#include "models/architectures/attention_window.h"
#include "models/architectures/parameters.h"
#include "plan/elementwise.h"

namespace windtunnel {

namespace {

bool layer_is_selected(const RecomputeLayers& layers, int index_in_stage) {
  switch (layers.kind) {
    case RecomputeLayers::Kind::all:
      return true;
    case RecomputeLayers::Kind::first:
      return index_in_stage < layers.n;
    case RecomputeLayers::Kind::every:
      return layers.n > 0 && index_in_stage % layers.n == 0;
  }
  return true;
}

}  // namespace

TransformerLayer::TransformerLayer(RoleDraft& draft, ChunkParameters& parameters, LayerPlace place)
    : d_(draft),
      params_(parameters),
      z_(draft),
      core_(z_.of_core(draft.plan().cp_heads)),
      layer_(place.layer),
      window_(attention_window(draft.model(), place.like.value_or(place.layer),
                               draft.scenario.scenario.batch.sequence)) {
  const ResolvedPlan& p = d_.plan();
  quantized_ = p.quantizes();
  const bool selected = layer_is_selected(p.recompute_layers, place.index_in_stage);
  full_recompute_ = p.recompute == RecomputeKind::full && selected;
  recompute_attention_ = selected && p.recomputes(RecomputeModule::attention);
  recompute_core_ = selected && p.recomputes(RecomputeModule::core_attention);
  const bool moe = is_moe_layer(d_.model(), place.like.value_or(layer_));
  if (moe)
    experts_.emplace(draft, parameters, ExpertPlace{.layer = layer_, .quantized = quantized_});
  if (d_.model().qk_norm) head_norms_.emplace(draft, parameters, layer_);
  if (d_.model().mla) latent_.emplace(draft, parameters, layer_, quantized_);
  recompute_mlp_ = selected && p.recomputes(moe ? RecomputeModule::moe : RecomputeModule::mlp);
  recompute_norm_ = selected && p.recomputes(RecomputeModule::norm);
  recompute_activation_ =
      selected && p.recomputes(moe ? RecomputeModule::moe_activation : RecomputeModule::activation);
  recompute_shared_ = selected && moe && p.recomputes(RecomputeModule::shared_experts);
  recompute_up_ = selected && latent_ && p.recomputes(RecomputeModule::mla_up_proj);
  parallel_ = d_.model().parallel_block;
  frozen_ = p.lora.has_value();
  const bool asked = full_recompute_ && d_.rules().checkpoints_need_input_grad;
  input_needs_grad_ = !place.input_is_constant || asked;
}

SlotId TransformerLayer::forward(SlotId input) {
  d_.layer = static_cast<std::int16_t>(layer_);
  t_.input = input;
  d_.host_work(HostItem::eager_op, d_.rules().host_layer.eager_ops);
  d_.host_work(HostItem::module_call, d_.rules().host_layer.module_calls);
  forward_attention_norm();
  forward_qkv();
  forward_core_attention();
  forward_attention_output();
  forward_mlp_norm();
  forward_mlp();
  d_.layer = -1;
  return t_.output;
}

void TransformerLayer::forward_attention_norm() {
  const NormResult n = norm_forward(d_, params_,
                                    {.input = t_.input,
                                     .weight = p_.norm1_weight,
                                     .bias = p_.norm1_bias,
                                     .name = "norm1",
                                     .quantizes = quantized_ && !latent_ && norm_quantizes(d_)});
  t_.norm1 = n.output;
  t_.norm1_stats = n.stats;
  t_.normalized1 = n.normalized;
}

void TransformerLayer::forward_qkv() {
  if (latent_) {
    t_.qkv = latent_->forward(t_.norm1);
    return;
  }
  t_.qkv_input = column_input(d_, z_, qkv(), t_.norm1, MadeBy::norm);
  t_.qkv = linear_forward(d_, params_, qkv(), t_.qkv_input, "qkv");
  if (adapters_.qkv) t_.qkv = adapters_.qkv->forward(t_.qkv_input.full, t_.qkv);
  if (head_norms_) t_.qkv = head_norms_->forward(t_.qkv);
  if (d_.model().position == PositionKind::rope) {
    d_.kernel({.kernel = Kernel::rope_fwd,
               .dims = {z_.rows, z_.heads, z_.kv_heads, z_.head_dim, z_.micro},
               .module = Module::attention,
               .launches = d_.rules().kernels.rope_forward,
               .extra_bytes = rope_traffic(d_, z_)},
              {t_.qkv}, {t_.qkv});
    if (const int tables = d_.rules().rope_tables; tables > 0) {
      t_.rope_tables = d_.keep("rope_tables", tables * z_.rows * z_.head_dim, z_.act);
    }
  }
  if (d_.rules().qkv_copies) {
    t_.qkv_copy = d_.tensor("qkv_copy", d_.slot(t_.qkv).elements, z_.act);
    // Three copies: q, k, v apart; k and v joined; the joined ones in rotary order.
    d_.kernel({.kernel = Kernel::copy,
               .dims = {d_.slot(t_.qkv).elements},
               .module = Module::attention,
               .launches = 3,
               .extra_bytes = 4 * z_.key_value_bytes()},
              {t_.qkv}, {t_.qkv_copy});
  }
}

/// (Ts, h)
SlotId TransformerLayer::attention_output() {
  t_.o_input = row_input(d_, o(), t_.context, MadeBy::other);
  const SlotId y = row_forward(d_, params_, z_, o(), {.input = t_.o_input, .name = "o"});
  return adapters_.o ? adapters_.o->forward(t_.o_input.full, y) : y;
}

/// (Ts, h)
SlotId TransformerLayer::mlp_output() {
  t_.fc2_input = row_input(d_, fc2(), t_.activation, MadeBy::elementwise);
  const SlotId y = row_forward(d_, params_, z_, fc2(), {.input = t_.fc2_input, .name = "fc2"});
  return adapters_.fc2 ? adapters_.fc2->forward(t_.fc2_input.full, y) : y;
}

void TransformerLayer::forward_attention_output() {
  const ResidualResult r = residual_forward(d_, params_,
                                            {.input = attention_output(),
                                             .residual = t_.input,
                                             .bias = p_.o_bias,
                                             .site = 1,
                                             .name = "residual1"});
  t_.residual1 = r.output;
  t_.mask1 = r.mask;
}

/// A parallel block's MLP reads what its attention does.
void TransformerLayer::forward_mlp_norm() {
  if (parallel_) {
    t_.norm2 = t_.norm1;
    return;
  }
  const NormResult n = norm_forward(d_, params_,
                                    {.input = t_.residual1,
                                     .weight = p_.norm2_weight,
                                     .bias = p_.norm2_bias,
                                     .name = "norm2",
                                     .input_on_chip = !d_.recompute || full_recompute_,
                                     .quantizes = quantized_ && !experts_ && norm_quantizes(d_)});
  t_.norm2 = n.output;
  t_.norm2_stats = n.stats;
  t_.normalized2 = n.normalized;
}

void TransformerLayer::forward_mlp_in() {
  t_.fc1_input = column_input(d_, z_, fc1(), t_.norm2, MadeBy::norm);
  t_.fc1 = linear_forward(d_, params_, fc1(), t_.fc1_input, "fc1");
  if (adapters_.fc1) t_.fc1 = adapters_.fc1->forward(t_.fc1_input.full, t_.fc1);
}

void TransformerLayer::forward_activation() {
  const ActivationResult r = activation_forward(d_, z_, t_.fc1);
  t_.activation = r.output;
  t_.silu = r.silu;
}

void TransformerLayer::forward_mlp() {
  if (!experts_) {
    forward_mlp_in();
    forward_activation();
  }
  forward_mlp_out();
}

void TransformerLayer::forward_mlp_out() {
  const ResidualResult r =
      residual_forward(d_, params_,
                       {.input = experts_ ? experts_->forward(t_.norm2) : mlp_output(),
                        .residual = t_.residual1,
                        .bias = p_.fc2_bias,
                        .site = 2,
                        .name = "residual2"});
  t_.output = r.output;
  t_.mask2 = r.mask;
}

void TransformerLayer::recompute_before_backward() {
  d_.recompute = true;
  if (full_recompute_) {
    forward(t_.input);
  } else if (recompute_mlp_) {
    // The module is norm2's consumer: its input norm2 is kept, what follows is run again.
    if (recompute_norm_) recompute_norm_of_mlp();
    recompute_mlp();
  } else {
    if (recompute_norm_) {
      recompute_norm_of_mlp();
      if (!experts_) t_.fc1_input = made_again(d_, fc1(), t_.fc1_input, t_.norm2, MadeBy::norm);
    }
    if (recompute_shared_) experts_->recompute_shared(t_.norm2);
    if (recompute_activation_ && experts_) experts_->recompute_activation();
    if (recompute_activation_ && !experts_) {
      forward_activation();
      t_.fc2_input = row_input(d_, fc2(), t_.activation, MadeBy::elementwise);
    }
  }
  d_.layer = static_cast<std::int16_t>(layer_);
  d_.recompute = false;
}

void TransformerLayer::recompute_norm_of_mlp() {
  if (parallel_) forward_attention_norm();
  forward_mlp_norm();
}

void TransformerLayer::recompute_mlp() {
  if (experts_) {
    experts_->forward(t_.norm2);
    return;
  }
  forward_mlp_in();
  forward_activation();
  mlp_output();
}

SlotId TransformerLayer::backward(SlotId dy) {
  d_.layer = static_cast<std::int16_t>(layer_);
  recompute_before_backward();
  d_.host_work(HostItem::backward_node, d_.rules().host_layer.backward_nodes);
  d_.host_work(HostItem::module_call, d_.rules().host_layer.backward_calls);
  d_.host_work(HostItem::eager_op, d_.rules().host_layer.backward_ops);
  SlotId dx = kNone;
  if (parallel_) {
    dx = backward_parallel(dy);
  } else if (const SlotId d_residual1 = backward_mlp(dy); d_residual1 != kNone) {
    if (!full_recompute_) recompute_before_attention();
    dx = backward_attention(d_residual1);
  }
  d_.layer = -1;
  return dx;
}

/// The halves' gradients of the norm's output are added; none where nothing before is trained.
SlotId TransformerLayer::backward_parallel(SlotId dy) {
  const SlotId of_mlp = mlp_norm_gradient(dy);
  if (!input_needs_grad_ && adapters_.qkv == nullptr) return kNone;
  if (!full_recompute_) recompute_before_attention();
  const SlotId dnorm = attention_norm_gradient(dy);
  if (dnorm == kNone) return kNone;
  d_.kernel({.kernel = Kernel::add, .dims = {d_.slot(dnorm).elements}, .module = Module::norm},
            {dnorm, of_mlp}, {dnorm});
  return attention_norm_backward(dnorm, dy);
}

void TransformerLayer::recompute_before_attention() {
  d_.recompute = true;
  if (recompute_norm_) {
    if (!parallel_) forward_attention_norm();  // it was, for the MLP
    if (!recompute_attention_) {
      if (latent_) {
        latent_->input_made_again(t_.norm1);
      } else {
        t_.qkv_input = made_again(d_, qkv(), t_.qkv_input, t_.norm1, MadeBy::norm);
      }
    }
  }
  if (recompute_attention_) {
    forward_qkv();
    forward_core_attention();
    attention_output();
  }
  d_.recompute = false;
}

SlotId TransformerLayer::mlp_norm_gradient(SlotId dy) {
  const SlotId branch = residual_backward(
      d_, params_, {.output_grad = dy, .mask = t_.mask2, .bias = p_.fc2_bias, .site = 2});
  return experts_ ? experts_->backward(branch, t_.norm2) : backward_dense(branch);
}

SlotId TransformerLayer::backward_mlp(SlotId dy) {
  const SlotId dnorm = mlp_norm_gradient(dy);
  if (dnorm == kNone) return kNone;
  return norm_backward(d_, params_,
                       {.output_grad = dnorm,
                        .input = t_.residual1,
                        .stats = t_.norm2_stats,
                        .normalized = t_.normalized2,
                        .residual_grad = dy,
                        .weight = p_.norm2_weight,
                        .bias = p_.norm2_bias});
}

SlotId TransformerLayer::backward_dense(SlotId branch) {
  const SlotId dact = adapted_row_backward(
      d_, params_, z_, fc2(),
      {.adapter = adapters_.fc2.get(), .frozen = {.output_grad = branch, .input = t_.fc2_input}});
  const SlotId dfc1 =
      activation_backward(d_, z_, {.output_grad = dact, .fc1 = t_.fc1, .silu = t_.silu});
  const bool goes_on = input_needs_grad_ || (adapters_.qkv != nullptr && !parallel_);
  return adapted_column_backward(
      d_, params_, z_, fc1(),
      {.adapter = adapters_.fc1.get(),
       .frozen = {.output_grad = dfc1, .input = t_.fc1_input, .grad_made_by = MadeBy::elementwise},
       .input_needs_grad = goes_on});
}

SlotId TransformerLayer::backward_attention(SlotId dy) {
  const SlotId dnorm = attention_norm_gradient(dy);
  return dnorm == kNone ? kNone : attention_norm_backward(dnorm, dy);
}

SlotId TransformerLayer::attention_norm_gradient(SlotId dy) {
  const SlotId branch = residual_backward(
      d_, params_, {.output_grad = dy, .mask = t_.mask1, .bias = p_.o_bias, .site = 1});
  const SlotId dcontext = adapted_row_backward(
      d_, params_, z_, o(),
      {.adapter = adapters_.o.get(), .frozen = {.output_grad = branch, .input = t_.o_input}});
  // The output projection keeps its input, so the core runs again only for its own backward
  // (2205.05198, section 5: 34 s b h / t bytes stay).
  if (!recompute_attention_ && !full_recompute_) {
    d_.recompute = true;
    if (recompute_up_) t_.qkv = t_.core_qkv = latent_->project_up();
    if (recompute_core_) forward_core_attention();
    d_.recompute = false;
  }
  SlotId dqkv = backward_core_attention(dcontext);
  if (head_norms_) dqkv = head_norms_->backward(dqkv);
  const MadeBy made_by = d_.model().position == PositionKind::rope || head_norms_
                             ? MadeBy::elementwise
                             : MadeBy::other;
  return latent_
             ? latent_->backward(dqkv)
             : adapted_column_backward(
                   d_, params_, z_, qkv(),
                   {.adapter = adapters_.qkv.get(),
                    .frozen = {.output_grad = dqkv, .input = t_.qkv_input, .grad_made_by = made_by},
                    .input_needs_grad = input_needs_grad_});
}

SlotId TransformerLayer::attention_norm_backward(SlotId dnorm, SlotId dy) {
  return norm_backward(d_, params_,
                       {.output_grad = dnorm,
                        .input = t_.input,
                        .stats = t_.norm1_stats,
                        .normalized = t_.normalized1,
                        .residual_grad = dy,
                        .weight = p_.norm1_weight,
                        .bias = p_.norm1_bias});
}

}  // namespace windtunnel
