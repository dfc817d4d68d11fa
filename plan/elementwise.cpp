#include "plan/elementwise.h"

namespace windtunnel {

namespace {

bool eager_chain(const RoleDraft& d) {
  return d.plan().norm_kernel == NormKernel::eager && d.rules().eager_norm.counted();
}

/// A counted chain streams like a fused kernel, only more bytes.
std::uint16_t norm_attr(const RoleDraft& d) {
  return d.plan().norm_kernel == NormKernel::fused || eager_chain(d) ? kFused : kAttrNone;
}

/// What a norm works along, and whether it has a bias: latents and heads are RMS-normed in every
/// model.
struct Normed {
  std::int64_t width;
  bool layernorm;
};
Normed normed(const Model& m, std::int64_t narrow) {
  if (narrow > 0) return {.width = narrow, .layernorm = false};
  return {.width = m.hidden, .layernorm = m.norm == NormKind::layernorm};
}

std::uint16_t shard_attr(const RoleDraft& d) {
  return d.plan().sequence_parallel ? kSequenceShard : kAttrNone;
}

}  // namespace

NormResult norm_forward(RoleDraft& d, ChunkParameters& p, const NormInput& in) {
  const auto [width, ln] = normed(d.model(), in.width);
  const Slot x = d.slot(in.input);
  const std::int64_t rows = x.elements / width;
  p.before_use(d, in.weight);
  NormResult r;
  r.output = d.tensor(in.name, x.elements, x.dtype);
  r.stats = d.tensor("norm_stats", ln ? 2 * rows : rows, Dtype::fp32, Category::norm_stats);
  OperandList inputs{in.input, p.slots(in.weight).weight};
  if (ln) {
    p.before_use(d, in.bias);
    inputs.push_back(p.slots(in.bias).weight);
  }
  d.kernel({.kernel = ln ? Kernel::layernorm_fwd : Kernel::rmsnorm_fwd,
            .dims = {rows, width},
            .attr = norm_attr(d),
            .module = Module::norm,
            .launches = eager_chain(d) ? d.rules().eager_norm.forward_launches
                                       : d.rules().kernels.norm_forward,
            .continues = in.input_on_chip && d.plan().compile,
            .extra_bytes = (eager_chain(d) ? x.elements * d.rules().eager_norm.forward_bytes : 0) -
                           (in.quantizes ? x.bytes() : 0)},
           inputs, {r.output, r.stats});
  if (d.plan().norm_kernel == NormKernel::eager && d.rules().eager_norm_keeps_normalized) {
    r.normalized = d.keep("normalized", x.elements, x.dtype);
  }
  return r;
}

SlotId norm_backward(RoleDraft& d, ChunkParameters& p, const NormGradInput& in) {
  const auto [width, ln] = normed(d.model(), in.width);
  const Slot x = d.slot(in.input);
  const SlotId dx = d.tensor("dx", x.elements, x.dtype);
  const bool adds_on_chip = d.plan().compile && in.residual_grad != kNone;
  const bool frozen = p.request(in.weight).frozen;
  OperandList outputs{dx};
  if (!frozen) outputs.push_back(p.slots(in.weight).grad);
  if (!frozen && ln) outputs.push_back(p.slots(in.bias).grad);
  std::uint16_t grads = p.gradient_attr(d, in.weight);
  if (frozen) grads = kInputGradOnly;
  d.kernel({.kernel = ln ? Kernel::layernorm_bwd : Kernel::rmsnorm_bwd,
            .dims = {x.elements / width, width},
            .attr = static_cast<std::uint16_t>(norm_attr(d) | grads),
            .module = Module::norm,
            .launches = eager_chain(d) ? d.rules().eager_norm.backward_launches
                        : frozen       ? 1  // without the sum over rows of the parameters' kernel
                                       : d.rules().kernels.norm_backward,
            .extra_bytes = (eager_chain(d) ? x.elements * d.rules().eager_norm.backward_bytes : 0) -
                           (adds_on_chip ? x.bytes() : 0)},
           {in.output_grad, in.input, p.slots(in.weight).weight, in.stats}, outputs);
  if (in.normalized != kNone) d.hold(in.normalized);
  if (!frozen) {
    if (ln) p.gradient_drafted(d, in.bias);
    p.gradient_drafted(d, in.weight);
  }
  if (in.residual_grad == kNone) return dx;
  d.kernel({.kernel = Kernel::add,
            .dims = {x.elements},
            .attr = adds_on_chip ? kFused : kAttrNone,
            .module = Module::residual,
            .continues = adds_on_chip},
           {dx, in.residual_grad}, {dx});
  return dx;
}

ResidualResult residual_forward(RoleDraft& d, ChunkParameters& p, const ResidualInput& in) {
  const Model& m = d.model();
  const Slot x = d.slot(in.input);
  const std::int64_t rows = x.elements / m.hidden;
  std::uint16_t attr = shard_attr(d);
  OperandList inputs{in.input, in.residual};
  if (m.bias) {
    p.before_use(d, in.bias);
    inputs.push_back(p.slots(in.bias).weight);
    attr |= kHasBias;
  }
  // One launch is one kernel: bias, dropout and addition fused (megatron/model/transformer.py,
  // bias_dropout_add, on by default).
  if (d.rules().kernels.residual_forward == 1) attr |= kFused;
  ResidualResult r;
  r.output = d.tensor(in.name, x.elements, x.dtype);
  OperandList outputs{r.output};
  if (m.dropout) {
    r.mask = d.tensor("dropout_mask", x.elements, Dtype::uint8);
    outputs.push_back(r.mask);
  }
  d.kernel({.kernel = m.dropout ? Kernel::dropout_add : Kernel::residual_add,
            .dims = {rows, m.hidden, in.site, d.scenario.scenario.batch.micro},
            .attr = attr,
            .module = Module::residual,
            .launches = d.rules().kernels.residual_forward},
           inputs, outputs);
  return r;
}

SlotId residual_backward(RoleDraft& d, ChunkParameters& p, const ResidualGradInput& in) {
  const Model& m = d.model();
  const Slot dy = d.slot(in.output_grad);
  const std::int64_t rows = dy.elements / m.hidden;
  SlotId branch = in.output_grad;
  if (in.mask != kNone) {
    branch = d.tensor("dbranch", dy.elements, dy.dtype);
    d.kernel({.kernel = Kernel::dropout_bwd,
              .dims = {rows, m.hidden, in.site, d.scenario.scenario.batch.micro},
              .attr = shard_attr(d),
              .module = Module::residual,
              .launches = d.rules().kernels.residual_backward},
             {in.output_grad, in.mask}, {branch});
  }
  if (m.bias && !p.request(in.bias).frozen) {
    d.kernel({.kernel = Kernel::bias_bwd,
              .dims = {rows, m.hidden},
              .attr = p.gradient_attr(d, in.bias),
              .module = Module::residual},
             {branch}, {p.slots(in.bias).grad});
    p.gradient_drafted(d, in.bias);
  }
  return branch;
}

namespace {

/// silu(gate) and its product with up as two kernels; a fused kernel has neither the extra tensor
/// nor the extra traffic.
bool separate_silu(const RoleDraft& d) {
  return d.model().gated() && d.rules().swiglu_keeps_silu;
}

}  // namespace

std::int64_t rope_traffic(const RoleDraft& d, const LayerSizes& z) {
  return d.plan().compile ? -z.key_value_bytes() : 0;  // v is half of k and v, read and written
}

ActivationResult activation_forward(RoleDraft& d, const LayerSizes& z, SlotId fc1) {
  ActivationResult r;
  r.output = d.tensor("activation", z.rows * z.ffn, z.act);
  const bool separate = separate_silu(d);
  const std::int64_t silu_bytes = bytes_of(z.act, z.rows * z.ffn);
  d.kernel({.kernel = Kernel::activation_fwd,
            .dims = {z.rows, z.ffn, static_cast<std::int64_t>(d.model().activation)},
            .attr = separate ? kAttrNone : kFused,
            .module = Module::activation,
            .launches = separate ? 2 : d.rules().kernels.activation_forward,
            .extra_bytes = separate ? 2 * silu_bytes : 0},
           {fc1}, {r.output});
  if (separate) r.silu = d.keep("silu", z.rows * z.ffn, z.act);
  return r;
}

SlotId activation_backward(RoleDraft& d, const LayerSizes& z, const ActivationGradInput& in) {
  const SlotId dx = d.tensor("dactivation", z.rows * z.fc1, z.act);
  const bool separate = separate_silu(d);
  // Two products and silu's derivative, each with a tensor like dy in between; where gate and up
  // are halves of one linear's output their gradients are then joined.
  const std::int64_t silu_bytes = bytes_of(z.act, z.rows * z.ffn);
  const bool joins = separate && !d.rules().split_gated_linear;
  d.kernel({.kernel = Kernel::activation_bwd,
            .dims = {z.rows, z.ffn, static_cast<std::int64_t>(d.model().activation)},
            .attr = separate ? kAttrNone : kFused,
            .module = Module::activation,
            .launches = separate ? (joins ? 4 : 3) : d.rules().kernels.activation_backward,
            .extra_bytes = (separate ? 4 * silu_bytes : 0) + (joins ? 4 * silu_bytes : 0)},
           {in.output_grad, in.fc1}, {dx});
  if (in.silu != kNone) d.hold(in.silu);
  return dx;
}

}  // namespace windtunnel
