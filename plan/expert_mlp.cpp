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

ExpertSizes::ExpertSizes(const RoleDraft& d, const LayerSizes& z) {
  const MoeShape& moe = *d.model().moe;
  const ResolvedPlan& p = d.plan();
  experts = moe.experts;
  top_k = moe.top_k;
  parts = p.routing_parts * z.norm_rows / z.rows;
  capacity = expert_rows(moe, z.rows / p.routing_parts);
  held = experts / p.ep;
  sources = std::int64_t{p.ep} * p.etp * parts;
  permuted = experts * parts * capacity;
  rows = held * sources * capacity;
  ffn = moe.ffn / p.etp;
  fc1 = d.model().gated() ? 2 * ffn : ffn;
  shared = moe.shared_experts * moe.ffn / p.tp;
}

ExpertMlp::ExpertMlp(RoleDraft& draft, ChunkParameters& parameters, int layer)
    : d_(draft),
      params_(parameters),
      z_(draft),
      e_(draft, z_),
      of_experts_(with_width(z_, draft.model(), e_.rows, e_.ffn)),
      of_shared_(with_width(z_, draft.model(), z_.rows, e_.shared)),
      layer_(layer) {}

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
  return {.weight = fc1_, .in = z_.hidden, .out = e_.fc1, .module = Module::mlp};
}
Linear ExpertMlp::fc2_linear() const {
  return {.weight = fc2_, .in = e_.ffn, .out = z_.hidden, .module = Module::mlp};
}
Linear ExpertMlp::shared_fc1_linear() const {
  return {.weight = shared_fc1_, .in = z_.hidden, .out = of_shared_.fc1, .module = Module::mlp};
}
Linear ExpertMlp::shared_fc2_linear() const {
  return {.weight = shared_fc2_, .in = e_.shared, .out = z_.hidden, .module = Module::mlp};
}

SlotId ExpertMlp::forward(SlotId x) {
  route(x);
  const std::int64_t hidden = z_.hidden;
  const SlotId permuted = d_.tensor("permuted", e_.permuted * hidden, z_.act);
  d_.kernel({.kernel = Kernel::permute_fwd,
             .dims = {z_.norm_rows, hidden, e_.top_k, e_.permuted},
             .module = Module::mlp},
            {x, t_.rows}, {permuted});
  t_.input = to_experts(permuted);
  products();
  const SlotId rows = grouped(Kernel::grouped_fwd, t_.activation, fc2_linear(), "expert_out");
  t_.output = from_experts(rows);
  const SlotId y = d_.tensor("combined", z_.norm_rows * hidden, z_.act);
  d_.kernel({.kernel = Kernel::unpermute_fwd,
             .dims = {z_.norm_rows, hidden, e_.top_k, e_.permuted},
             .module = Module::mlp},
            {t_.output, t_.probs, t_.rows}, {y});
  return e_.shared > 0 ? sum(y, shared_forward(x)) : y;
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
             .dims = {t, e_.experts, e_.top_k, e_.capacity, e_.parts},
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

SlotId ExpertMlp::exchange(SlotId x, const char* name) {
  if (d_.comm("ep") == kNone) return x;
  const std::int64_t n = d_.slot(x).elements;
  const SlotId y = d_.tensor(name, n, d_.slot(x).dtype);
  d_.collective({.collective = Collective::all_to_all,
                 .reduce = ReduceOp::none,
                 .comm = d_.comm("ep"),
                 .module = Module::mlp},
                x, y, n);
  return y;
}

/// (E parts C, h) of this rank's tokens -> (G M, h) of the experts here.
SlotId ExpertMlp::to_experts(SlotId permuted) {
  SlotId x = exchange(permuted, "dispatched");
  if (d_.plan().etp > 1) {
    const SlotId all = d_.tensor("gathered", e_.rows * z_.hidden, z_.act);
    d_.collective({.collective = Collective::all_gather,
                   .reduce = ReduceOp::none,
                   .comm = d_.comm("tp"),
                   .module = Module::mlp},
                  x, all, e_.rows * z_.hidden);
    x = all;
  }
  const std::int64_t ranks = e_.sources / e_.parts;
  if (ranks == 1 || e_.held == 1) return x;
  const SlotId sorted = d_.tensor("sorted", e_.rows * z_.hidden, z_.act);
  d_.kernel({.kernel = Kernel::swap_chunks,
             .dims = {ranks, e_.held, e_.parts * e_.capacity * z_.hidden},
             .module = Module::mlp},
            {x}, {sorted});
  return sorted;
}

/// The way back; partial sums of tensor parallel ranks are added up on it.
SlotId ExpertMlp::from_experts(SlotId x) {
  const std::int64_t ranks = e_.sources / e_.parts;
  if (ranks > 1 && e_.held > 1) {
    const SlotId unsorted = d_.tensor("unsorted", e_.rows * z_.hidden, z_.act);
    d_.kernel({.kernel = Kernel::swap_chunks,
               .dims = {e_.held, ranks, e_.parts * e_.capacity * z_.hidden},
               .module = Module::mlp},
              {x}, {unsorted});
    x = unsorted;
  }
  if (d_.plan().etp > 1) {
    const SlotId part = d_.tensor("scattered", e_.permuted * z_.hidden, z_.act);
    d_.collective(
        {.collective = Collective::reduce_scatter, .comm = d_.comm("tp"), .module = Module::mlp}, x,
        part, e_.rows * z_.hidden);
    x = part;
  }
  return exchange(x, "returned");
}

SlotId ExpertMlp::grouped(Kernel kernel, SlotId x, const Linear& l, const char* name) {
  params_.before_use(d_, l.weight);
  const std::int64_t width = kernel == Kernel::grouped_fwd ? l.out : l.in;
  const SlotId y = d_.tensor(name, e_.rows * width, z_.act);
  d_.kernel(
      {.kernel = kernel, .dims = {e_.rows / e_.held, l.out, l.in, e_.held}, .module = l.module},
      {x, params_.slots(l.weight).weight}, {y});
  return y;
}

void ExpertMlp::products() {
  t_.fc1 = grouped(Kernel::grouped_fwd, t_.input, fc1_linear(), "expert_fc1");
  recompute_activation();
}

void ExpertMlp::recompute_activation() {
  const ActivationResult r = activation_forward(d_, of_experts_, t_.fc1);
  t_.activation = r.output;
  t_.silu = r.silu;
}

SlotId ExpertMlp::shared_forward(SlotId x) {
  recompute_shared(x);
  const SlotId y =
      linear_forward(d_, params_, shared_fc2_linear(), t_.shared_activation, "shared_fc2");
  return reduce_rows(d_, z_, y, z_.hidden);
}

void ExpertMlp::recompute_shared(SlotId x) {
  if (e_.shared == 0) return;
  const SlotId full = gather_rows(d_, z_, x, z_.hidden);
  t_.shared_fc1 = linear_forward(d_, params_, shared_fc1_linear(), full, "shared_fc1");
  const ActivationResult r = activation_forward(d_, of_shared_, t_.shared_fc1);
  t_.shared_activation = r.output;
  t_.shared_silu = r.silu;
}

SlotId ExpertMlp::sum(SlotId a, SlotId b) {
  d_.kernel({.kernel = Kernel::add, .dims = {d_.slot(a).elements}, .module = Module::mlp}, {a, b},
            {a});
  return a;
}

void ExpertMlp::weight_gradient(const Linear& l, SlotId dy, SlotId x) {
  put_weight_gradient(d_, params_,
                      {.weight = l.weight,
                       .in = l.in,
                       .out = l.out,
                       .groups = e_.held,
                       .module = l.module,
                       .output_grad = dy,
                       .input = x,
                       .layer = d_.layer});
}

SlotId ExpertMlp::backward(SlotId dy, SlotId x) {
  const std::int64_t t = z_.norm_rows, h = z_.hidden;
  const SlotId dshared = e_.shared > 0 ? shared_backward(dy, x) : kNone;
  const SlotId d_output = d_.tensor("dreturned", e_.permuted * h, z_.act);
  const SlotId d_probs = d_.tensor("dprobs", t * e_.top_k, Dtype::fp32);
  d_.kernel({.kernel = Kernel::unpermute_bwd,
             .dims = {t, h, e_.top_k, e_.permuted},
             .module = Module::mlp},
            {dy, t_.output, t_.probs, t_.rows}, {d_output, d_probs});
  const SlotId d_rows = to_experts(d_output);
  const SlotId d_act = grouped(Kernel::grouped_dgrad, d_rows, fc2_linear(), "dexpert_act");
  weight_gradient(fc2_linear(), d_rows, t_.activation);
  const SlotId d_fc1 =
      activation_backward(d_, of_experts_, {.output_grad = d_act, .fc1 = t_.fc1, .silu = t_.silu});
  const SlotId d_input = grouped(Kernel::grouped_dgrad, d_fc1, fc1_linear(), "dexpert_in");
  weight_gradient(fc1_linear(), d_fc1, t_.input);
  const SlotId d_permuted = from_experts(d_input);
  const SlotId dx = d_.tensor("dpermute", t * h, z_.act);
  d_.kernel(
      {.kernel = Kernel::permute_bwd, .dims = {t, h, e_.top_k, e_.permuted}, .module = Module::mlp},
      {d_permuted, t_.rows}, {dx});
  const SlotId d_logits = d_.tensor("dlogits", t * e_.experts, Dtype::fp32);
  d_.kernel({.kernel = Kernel::route_bwd,
             .dims = {t, e_.experts, e_.top_k, e_.capacity, e_.parts},
             .attr = score_attr(*d_.model().moe),
             .module = Module::mlp},
            {d_probs, t_.logits, t_.rows}, {d_logits});
  const Linear router{.weight = router_, .in = h, .out = e_.experts, .module = Module::mlp};
  sum(dx, row_backward(d_, params_, z_, router, {.output_grad = d_logits, .input = x}));
  return dshared == kNone ? dx : sum(dx, dshared);
}

SlotId ExpertMlp::shared_backward(SlotId dy, SlotId x) {
  const SlotId dm = gather_rows(d_, z_, dy, z_.hidden);
  const SlotId d_act = row_backward(d_, params_, z_, shared_fc2_linear(),
                                    {.output_grad = dm, .input = t_.shared_activation});
  const SlotId d_fc1 = activation_backward(
      d_, of_shared_, {.output_grad = d_act, .fc1 = t_.shared_fc1, .silu = t_.shared_silu});
  return column_backward(d_, params_, z_, shared_fc1_linear(), {.output_grad = d_fc1, .input = x});
}

}  // namespace windtunnel
