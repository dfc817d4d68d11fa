#include "plan/expert_mlp.h"

#include "models/architectures/experts.h"
#include "plan/elementwise.h"

namespace windtunnel {

namespace {

LayerSizes with_width(LayerSizes z, const Model& m, std::int64_t rows, std::int64_t ffn) {
  z.rows = rows;
  z.ffn = ffn;
  z.fc1 = m.gated() ? 2 * ffn : ffn;
  return z;
}

/// Models whose choices are balanced by a bias score experts by sigmoids (DeepSeek-V3).
std::uint16_t score_attr(const MoeShape& moe) {
  return moe.router_bias ? kSigmoid : kAttrNone;
}

}  // namespace

ExpertMlp::ExpertMlp(RoleDraft& draft, ChunkParameters& parameters, ExpertPlace place)
    : d_(draft),
      params_(parameters),
      z_(draft),
      e_(draft, z_, place.quantized ? aligned_rows(draft) : 1),
      exchange_(draft, e_),
      of_experts_(with_width(z_, draft.model(), e_.padded, e_.ffn)),
      of_shared_(with_width(z_, draft.model(), z_.rows, e_.shared)),
      layer_(place.layer),
      quantized_(place.quantized) {}

void ExpertMlp::declare_parameters() {
  const Model& m = d_.model();
  const std::string prefix = "layers." + std::to_string(layer_) + ".";
  struct Matrix {
    const char* name;
    std::int64_t rows, cols;
    int shard_dim = -1;
    std::array<std::int64_t, 3> blocks{};
    std::int64_t experts = 1, held = 1;
  };
  const auto declare = [&](const Matrix& w) {
    const bool replicated = w.shard_dim < 0 && w.experts == 1;
    return params_.declare({.param = {.rows = w.rows,
                                      .cols = w.cols,
                                      .padded_rows = w.rows,
                                      .shard_dim = w.shard_dim,
                                      .blocks = w.blocks,
                                      .layer = static_cast<std::int16_t>(layer_),
                                      .experts = w.experts,
                                      .held = w.held},
                            .name = prefix + w.name,
                            .contributions = 1,
                            .partial_over_tp = d_.plan().sequence_parallel && replicated});
  };
  const std::int64_t h = m.hidden, f = m.moe->ffn, s = m.moe->shared_experts * f;
  const std::int64_t gates = m.gated() ? 2 : 1;
  const bool cut = d_.plan().etp > 1;
  const auto blocks = [&](std::int64_t width) {
    return std::array<std::int64_t, 3>{width, m.gated() ? width : 0, 0};
  };
  router_ = declare({.name = "router.weight", .rows = e_.experts, .cols = h});
  fc1_ = declare({.name = "experts.fc1.weight",
                  .rows = gates * f,
                  .cols = h,
                  .shard_dim = cut ? 0 : -1,
                  .blocks = blocks(f),
                  .experts = e_.experts,
                  .held = e_.held});
  fc2_ = declare({.name = "experts.fc2.weight",
                  .rows = h,
                  .cols = f,
                  .shard_dim = cut ? 1 : -1,
                  .blocks = {f},
                  .experts = e_.experts,
                  .held = e_.held});
  if (s == 0) return;
  shared_fc1_ = declare({.name = "shared.fc1.weight",
                         .rows = gates * s,
                         .cols = h,
                         .shard_dim = 0,
                         .blocks = blocks(s)});
  shared_fc2_ =
      declare({.name = "shared.fc2.weight", .rows = h, .cols = s, .shard_dim = 1, .blocks = {s}});
}

Linear ExpertMlp::fc1_linear() const {
  return {.weight = fc1_,
          .in = z_.hidden,
          .out = e_.fc1,
          .groups = e_.held,
          .module = Module::mlp,
          .quantized = quantized_};
}
Linear ExpertMlp::fc2_linear() const {
  return {.weight = fc2_,
          .in = e_.ffn,
          .out = z_.hidden,
          .groups = e_.held,
          .module = Module::mlp,
          .quantized = quantized_};
}
/// On a stream of their own, shared experts transfer their rows themselves (Megatron-LM,
/// core/transformer/moe/shared_experts.py switches their linears' overlap off).
bool ExpertMlp::overlaps_shared() const {
  return d_.plan().overlap_tp && !d_.plan().overlap_ep;
}
Linear ExpertMlp::shared_fc1_linear() const {
  return {.weight = shared_fc1_,
          .in = z_.hidden,
          .out = of_shared_.fc1,
          .module = Module::mlp,
          .quantized = quantized_,
          .overlapped = overlaps_shared()};
}
Linear ExpertMlp::shared_fc2_linear() const {
  return {.weight = shared_fc2_,
          .in = e_.shared,
          .out = z_.hidden,
          .module = Module::mlp,
          .quantized = quantized_,
          .overlapped = overlaps_shared()};
}

SlotId ExpertMlp::forward(SlotId x) {
  route(x);
  const std::int64_t hidden = z_.hidden;
  const SlotId permuted = d_.tensor("permuted", e_.permuted * hidden, z_.act);
  d_.kernel({.kernel = Kernel::permute_fwd,
             .dims = {z_.norm_rows, hidden, e_.top_k, e_.permuted},
             .module = Module::mlp},
            {x, t_.rows}, {permuted});
  const SlotId input = exchange_.to_experts(permuted, hidden, [&] { recompute_shared(x); });
  if (d_.rules().weighs_in_experts) weigh();
  t_.fc1_input = row_input(d_, fc1_linear(), input, MadeBy::other);
  t_.fc1 = local_forward(d_, params_, fc1_linear(), t_.fc1_input, "expert_fc1");
  recompute_activation();
  const SlotId rows = local_forward(d_, params_, fc2_linear(), t_.fc2_input, "expert_out");
  SlotId shared = kNone;
  const SlotId y = combine(exchange_.from_experts(rows, hidden, [&] { shared = shared_output(); }));
  return shared == kNone ? y : sum(y, shared);
}

/// Probabilities follow their rows.
void ExpertMlp::weigh() {
  const SlotId own = d_.tensor("row_weights", e_.permuted, Dtype::fp32);
  d_.kernel({.kernel = Kernel::spread_fwd,
             .dims = {z_.norm_rows, 0, e_.top_k, e_.permuted},
             .module = Module::mlp},
            {t_.probs, t_.rows}, {own});
  t_.weights = exchange_.to_experts(own, 1);
}

SlotId ExpertMlp::combine(SlotId output) {
  const std::int64_t t = z_.norm_rows, h = z_.hidden;
  const SlotId y = d_.tensor("combined", t * h, z_.act);
  const bool weighted = t_.weights != kNone;
  OperandList in{output, t_.rows};
  if (!weighted) {
    t_.output = output;
    in = {output, t_.probs, t_.rows};
  }
  d_.kernel({.kernel = weighted ? Kernel::permute_bwd : Kernel::unpermute_fwd,
             .dims = {t, h, e_.top_k, e_.permuted},
             .module = Module::mlp},
            in, {y});
  return y;
}

/// The router's product has 16-bit inputs and 32-bit outputs; its scores are 32-bit.
void ExpertMlp::route(SlotId x) {
  const std::int64_t t = z_.norm_rows;
  params_.before_use(d_, router_);
  t_.logits = d_.tensor("router_logits", t * e_.experts, Dtype::fp32);
  d_.kernel({.kernel = Kernel::gemm_fwd, .dims = {t, e_.experts, z_.hidden}, .module = Module::mlp},
            {x, params_.slots(router_).weight}, {t_.logits});
  t_.probs = d_.tensor("router_probs", t * e_.top_k, Dtype::fp32);
  t_.rows = d_.tensor("permuted_rows", t * e_.top_k, Dtype::int64);
  const SlotId counts = d_.tensor("expert_counts", e_.parts * e_.experts, Dtype::fp32);
  const MoeShape& moe = *d_.model().moe;
  const int attr = score_attr(moe) | (routes_evenly(moe) ? kAttrNone : kHashed) |
                   (d_.plan().sequence_parallel ? kSequenceShard : kAttrNone);
  d_.kernel({.kernel = Kernel::route_fwd,
             .dims = {t, e_.experts, e_.top_k, e_.capacity, e_.parts, e_.ring > 1 ? e_.ring : 0},
             .attr = static_cast<std::uint16_t>(attr),
             .module = Module::mlp},
            {t_.logits}, {t_.probs, t_.rows, counts});
  count_on_host(counts);
}

/// Without a capacity the host has to know how many rows go where before it can issue what moves
/// them: counts are gathered over the expert group, copied to the host, and waited for.
void ExpertMlp::count_on_host(SlotId counts) {
  if (d_.model().moe->capacity_factor) return;
  if (d_.comm("ep") != kNone) {
    const std::int64_t all = e_.experts * d_.plan().ep;
    d_.collective({.collective = Collective::all_gather,
                   .reduce = ReduceOp::none,
                   .comm = d_.comm("ep"),
                   .module = Module::mlp},
                  counts, d_.tensor("all_counts", all, Dtype::fp32), all);
  }
  d_.wait_on_host("experts_counted");
}

void ExpertMlp::recompute_activation() {
  t_.fc2_input = row_input(d_, fc2_linear(), activation(), MadeBy::elementwise);
}

/// (G M', f)
SlotId ExpertMlp::activation() {
  if (t_.weights == kNone) {
    const ActivationResult r = activation_forward(d_, of_experts_, t_.fc1);
    t_.silu = r.silu;
    return r.output;
  }
  const SlotId weighted = d_.tensor("activation", e_.padded * e_.ffn, z_.act);
  d_.kernel({.kernel = Kernel::weighted_activation_fwd,
             .dims = {e_.padded, e_.ffn, static_cast<std::int64_t>(d_.model().activation)},
             .attr = kFused,
             .module = Module::activation},
            {t_.fc1, t_.weights}, {weighted});
  return weighted;
}

SlotId ExpertMlp::shared_output() {
  if (e_.shared == 0) return kNone;
  return row_forward(d_, params_, z_, shared_fc2_linear(),
                     {.input = t_.shared_fc2_input, .name = "shared_fc2"});
}

void ExpertMlp::recompute_shared(SlotId x) {
  if (e_.shared == 0) return;
  t_.shared_x = x;
  t_.shared_fc1_input = column_input(d_, z_, shared_fc1_linear(), x, MadeBy::other);
  t_.shared_fc1 =
      linear_forward(d_, params_, shared_fc1_linear(), t_.shared_fc1_input, "shared_fc1");
  const ActivationResult r = activation_forward(d_, of_shared_, t_.shared_fc1);
  t_.shared_fc2_input = row_input(d_, shared_fc2_linear(), r.output, MadeBy::elementwise);
  t_.shared_silu = r.silu;
}

SlotId ExpertMlp::sum(SlotId a, SlotId b) {
  d_.kernel({.kernel = Kernel::add, .dims = {d_.slot(a).elements}, .module = Module::mlp}, {a, b},
            {a});
  return a;
}

ExpertMlp::CombineGrads ExpertMlp::combine_backward(SlotId dy) {
  const std::int64_t t = z_.norm_rows, h = z_.hidden;
  CombineGrads grads{.output = d_.tensor("dreturned", e_.permuted * h, z_.act)};
  KernelSpec spec{
      .kernel = Kernel::permute_fwd, .dims = {t, h, e_.top_k, e_.permuted}, .module = Module::mlp};
  if (t_.weights != kNone) {
    d_.kernel(spec, {dy, t_.rows}, {grads.output});
    return grads;
  }
  grads.probs = d_.tensor("dprobs", t * e_.top_k, Dtype::fp32);
  spec.kernel = Kernel::unpermute_bwd;
  d_.kernel(spec, {dy, t_.output, t_.probs, t_.rows}, {grads.output, grads.probs});
  return grads;
}

ExpertMlp::ActivationGrads ExpertMlp::activation_backward_of(SlotId dactivation) {
  if (t_.weights == kNone) {
    return {.fc1 = activation_backward(
                d_, of_experts_, {.output_grad = dactivation, .fc1 = t_.fc1, .silu = t_.silu})};
  }
  const ActivationGrads grads{.fc1 = d_.tensor("dactivation", e_.padded * e_.fc1, z_.act),
                              .weights = d_.tensor("dweights", e_.padded, Dtype::fp32)};
  d_.kernel({.kernel = Kernel::weighted_activation_bwd,
             .dims = {e_.padded, e_.ffn, static_cast<std::int64_t>(d_.model().activation)},
             .attr = kFused,
             .module = Module::activation},
            {dactivation, t_.fc1, t_.weights}, {grads.fc1, grads.weights});
  return grads;
}

SlotId ExpertMlp::backward(SlotId dy, SlotId x) {
  const std::int64_t t = z_.norm_rows, h = z_.hidden;
  CombineGrads combined = combine_backward(dy);
  // A norm that was made again.
  if (e_.shared > 0 && t_.shared_x != x)
    t_.shared_fc1_input =
        made_again(d_, shared_fc1_linear(), t_.shared_fc1_input, x, MadeBy::other);
  SlotId d_shared_fc1 = kNone, d_shared = kNone;
  const SlotId d_rows =
      exchange_.to_experts(combined.output, h, [&] { d_shared_fc1 = shared_inner_backward(dy); });
  const SlotId d_act =
      local_backward(d_, params_, fc2_linear(), {.output_grad = d_rows, .input = t_.fc2_input});
  const ActivationGrads inner = activation_backward_of(d_act);
  const SlotId d_input = local_backward(
      d_, params_, fc1_linear(),
      {.output_grad = inner.fc1, .input = t_.fc1_input, .grad_made_by = MadeBy::elementwise});
  const SlotId d_permuted = exchange_.from_experts(d_input, h, [&] {
    if (d_shared_fc1 == kNone) return;
    d_shared = column_backward(d_, params_, z_, shared_fc1_linear(),
                               {.output_grad = d_shared_fc1,
                                .input = t_.shared_fc1_input,
                                .grad_made_by = MadeBy::elementwise});
  });
  const SlotId dx = d_.tensor("dpermute", t * h, z_.act);
  d_.kernel(
      {.kernel = Kernel::permute_bwd, .dims = {t, h, e_.top_k, e_.permuted}, .module = Module::mlp},
      {d_permuted, t_.rows}, {dx});
  if (inner.weights != kNone) {
    const SlotId own = exchange_.from_experts(inner.weights, 1);
    combined.probs = d_.tensor("dprobs", t * e_.top_k, Dtype::fp32);
    d_.kernel({.kernel = Kernel::spread_bwd,
               .dims = {t, 0, e_.top_k, e_.permuted},
               .module = Module::mlp},
              {own, t_.rows}, {combined.probs});
  }
  sum(dx, route_backward(combined.probs, x));
  return d_shared == kNone ? dx : sum(dx, d_shared);
}

SlotId ExpertMlp::route_backward(SlotId dprobs, SlotId x) {
  const std::int64_t t = z_.norm_rows;
  const SlotId d_logits = d_.tensor("dlogits", t * e_.experts, Dtype::fp32);
  d_.kernel({.kernel = Kernel::route_bwd,
             .dims = {t, e_.experts, e_.top_k, e_.capacity, e_.parts},
             .attr = score_attr(*d_.model().moe),
             .module = Module::mlp},
            {dprobs, t_.logits, t_.rows}, {d_logits});
  const Linear router{.weight = router_, .in = z_.hidden, .out = e_.experts, .module = Module::mlp};
  return local_backward(d_, params_, router,
                        {.output_grad = d_logits, .input = row_input(d_, router, x, MadeBy::norm)});
}

SlotId ExpertMlp::shared_inner_backward(SlotId dy) {
  if (e_.shared == 0) return kNone;
  const SlotId d_act = row_backward(d_, params_, z_, shared_fc2_linear(),
                                    {.output_grad = dy, .input = t_.shared_fc2_input});
  return activation_backward(d_, of_shared_,
                             {.output_grad = d_act, .fc1 = t_.shared_fc1, .silu = t_.shared_silu});
}

}  // namespace windtunnel
