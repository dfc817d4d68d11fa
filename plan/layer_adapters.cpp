#include "plan/layer_adapters.h"

#include <string>
#include <utility>
#include <vector>

namespace windtunnel {

namespace {

void add(RoleDraft& d, const Linear& l, const OperandList& both, SlotId sum) {
  d.kernel({.kernel = Kernel::add, .dims = {d.slot(sum).elements}, .module = l.module}, both,
           {sum});
}

}  // namespace

/// q, k, v and gate, up are layers of their own where the stack adapts each.
LayerAdapters make_adapters(RoleDraft& d, ChunkParameters& p, int layer,
                            const AdaptedLinears& linears) {
  const Model& m = d.model();
  const LoraShape& lora = *d.plan().lora;
  const std::int64_t q = m.query_width(), kv = m.kv_width(), f = m.ffn;
  const std::int64_t fc1_rows = m.gated() ? 2 * f : f;
  using Widths = std::vector<std::int64_t>;
  LayerAdapters adapters;
  const auto adapt = [&](std::unique_ptr<LinearAdapter>& adapter, AdapterPlace place) {
    place.name = "layers." + std::to_string(layer) + "." + place.name;
    place.layer = static_cast<std::int16_t>(layer);
    adapter = std::make_unique<LinearAdapter>(d, p, std::move(place));
    adapter->declare_parameters();
  };
  const auto adapt_row = [&](std::unique_ptr<LinearAdapter>& adapter, const char* name,
                             const Linear& linear) {
    adapt(adapter, {.name = name,
                    .side = AdaptedSide::row,
                    .linear = linear,
                    .blocks = {m.hidden},
                    .parts = {m.hidden}});
  };
  if (lora.attention) {
    adapt(adapters.qkv, {.name = "qkv",
                         .linear = linears.qkv,
                         .blocks = {q, kv, kv},
                         .parts = qkv_parts(lora) > 1 ? Widths{q, kv, kv} : Widths{q + 2 * kv}});
    adapt_row(adapters.o, "o", linears.o);
  }
  if (lora.mlp) {
    adapt(adapters.fc1, {.name = "fc1",
                         .linear = linears.fc1,
                         .blocks = {f, fc1_rows - f},
                         .parts = fc1_parts(lora, m) > 1 ? Widths{f, f} : Widths{fc1_rows}});
    adapt_row(adapters.fc2, "fc2", linears.fc2);
  }
  return adapters;
}

/// The adapter's is this rank's summand: under sequence parallel it is scattered with the frozen
/// layer's (TransformerEngine layernorm_linear.py, return_layernorm_output_gathered), else summed
/// by itself (Megatron-LM core/tensor_parallel/layers.py, allreduce_dgrad of linear_in).
SlotId adapted_column_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z,
                               const Linear& l, const AdaptedColumn& in) {
  using InputGrad = LinearAdapter::InputGrad;
  const bool sp = d.plan().sequence_parallel;
  ColumnBackward frozen = in.frozen;
  SlotId own = kNone;
  if (in.adapter != nullptr) {
    own = in.adapter->backward(sp ? frozen.input.full : frozen.input.shard, frozen.output_grad,
                               in.input_needs_grad ? InputGrad::needed : InputGrad::not_needed);
  }
  if (!in.input_needs_grad) return kNone;
  const bool apart = own != kNone && d.comm("tp") != kNone && !sp;
  if (apart) {
    d.collective({.comm = d.comm("tp"), .module = l.module}, own, own, z.rows * l.in);
  } else {
    frozen.summand = own;
  }
  const SlotId dx = column_backward(d, p, z, l, frozen);
  if (apart) add(d, l, {dx, own}, dx);
  return dx;
}

SlotId adapted_row_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z, const Linear& l,
                            const AdaptedRow& in) {
  SlotId own = kNone;
  if (in.adapter != nullptr)
    own = in.adapter->backward(in.frozen.input.shard, in.frozen.output_grad,
                               LinearAdapter::InputGrad::needed);
  const SlotId dx = row_backward(d, p, z, l, in.frozen);
  if (own != kNone) add(d, l, {dx, own}, dx);
  return dx;
}

}  // namespace windtunnel
