#include "plan/linear_adapter.h"

#include <numeric>
#include <utility>

#include "plan/columns.h"

namespace windtunnel {

LinearAdapter::LinearAdapter(RoleDraft& draft, ChunkParameters& parameters, AdapterPlace place)
    : d_(draft), params_(parameters), z_(draft), place_(std::move(place)) {}

void LinearAdapter::declare_parameters() {
  const int tp = d_.plan().tp;
  const bool column = place_.side == AdaptedSide::column;
  const auto declare = [&](const std::string& name, Param shape) {
    shape.padded_rows = shape.rows;
    shape.init = Param::Init::normal;
    shape.layer = place_.layer;
    return params_.declare({.param = shape, .name = place_.name + name, .adapter = true});
  };
  const std::int64_t low = low_width();
  const std::int64_t in = column ? place_.linear.in : place_.linear.in * tp;
  down_ = declare(
      ".lora_a",
      {.rows = low, .cols = in, .shard_dim = column ? 0 : 1, .blocks = {column ? low : in}});
  const bool one = place_.parts.size() == 1;
  for (std::size_t i = 0; i < place_.parts.size(); ++i) {
    const std::int64_t out = place_.parts[i];
    const std::string name = one ? ".lora_b" : ".lora_b" + std::to_string(i);
    std::array<std::int64_t, 3> blocks = {out};
    if (one) blocks = place_.blocks;
    up_.push_back(declare(name, {.rows = out, .cols = rank(), .shard_dim = 0, .blocks = blocks}));
  }
}

Linear LinearAdapter::down() const {
  const bool column = place_.side == AdaptedSide::column;
  return {.weight = down_,
          .in = place_.linear.in,
          .out = column ? low_width() / d_.plan().tp : low_width(),
          .module = place_.linear.module};
}

Linear LinearAdapter::up(std::size_t part) const {
  return {.weight = up_[part],
          .in = rank(),
          .out = place_.parts[part] / d_.plan().tp,
          .module = place_.linear.module};
}

/// times alpha / r
SlotId LinearAdapter::scaled(SlotId x, std::string_view name) {
  const Slot from = d_.slot(x);
  const SlotId y = d_.tensor(name, from.elements, from.dtype);
  d_.kernel({.kernel = Kernel::scale,
             .dims = {from.elements, rank(), d_.plan().lora->alpha},
             .module = place_.linear.module},
            {x}, {y});
  return y;
}

/// (T, width / tp) of each rank -> (T, width)
SlotId LinearAdapter::gathered_columns(SlotId x, std::int64_t width, std::string_view name) {
  const std::int64_t n = z_.rows * width;
  const SlotId parts = d_.tensor("adapter_parts", n, d_.slot(x).dtype);
  d_.collective({.collective = Collective::all_gather,
                 .reduce = ReduceOp::none,
                 .comm = d_.comm("tp"),
                 .module = place_.linear.module},
                x, parts, n);
  const SlotId whole = d_.tensor(name, n, d_.slot(x).dtype);
  d_.kernel({.kernel = Kernel::blocks_to_columns,
             .dims = {z_.rows, width, d_.plan().tp},
             .module = place_.linear.module},
            {parts}, {whole});
  return whole;
}

/// (T, width) -> this rank's (T, width / tp)
SlotId LinearAdapter::own_columns(SlotId x, std::int64_t width, std::string_view name) {
  const std::int64_t own = width / d_.plan().tp;
  return take_columns(d_, x,
                      {.rows = z_.rows,
                       .width = width,
                       .columns = own,
                       .tp_stride = own,
                       .name = name,
                       .module = place_.linear.module});
}

/// Columns of one of the layers side by side: tensors of their own where there are several.
SlotId LinearAdapter::low_part(SlotId low, std::size_t part) {
  if (place_.parts.size() == 1) return low;
  return take_columns(d_, low,
                      {.rows = z_.rows,
                       .width = low_width(),
                       .offset = static_cast<std::int64_t>(part) * rank(),
                       .columns = rank(),
                       .name = "adapter_low_part",
                       .module = place_.linear.module,
                       .move = ColumnMove::in_place});
}

SlotId LinearAdapter::output_part(SlotId out, std::size_t part) {
  if (place_.parts.size() == 1) return out;
  const auto before = place_.parts.begin() + static_cast<std::ptrdiff_t>(part);
  return take_columns(d_, out,
                      {.rows = z_.rows,
                       .width = place_.linear.out,
                       .offset = std::accumulate(place_.parts.begin(), before, std::int64_t{0}),
                       .columns = *before,
                       .name = "adapter_output_part",
                       .module = place_.linear.module,
                       .move = ColumnMove::in_place});
}

SlotId LinearAdapter::joined(const OperandList& parts, std::int64_t width, std::string_view name) {
  if (parts.size() == 1) return *parts.begin();
  return join_columns(d_, parts,
                      {.rows = z_.rows,
                       .width = width,
                       .name = name,
                       .module = place_.linear.module,
                       .move = ColumnMove::in_place});
}

/// (T, parts r) -> (T, out of this rank)
SlotId LinearAdapter::multiplied_up() {
  OperandList made;
  for (std::size_t i = 0; i < up_.size(); ++i) {
    const SlotId x = low_part(low_, i);
    made.push_back(
        local_forward(d_, params_, up(i), {.shard = x, .full = x, .quantized = {}}, "adapter_up"));
  }
  return joined(made, place_.linear.out, "adapter_up");
}

SlotId LinearAdapter::forward(SlotId x, SlotId y) {
  const bool row = place_.side == AdaptedSide::row;
  low_ =
      local_forward(d_, params_, down(), {.shard = x, .full = x, .quantized = {}}, "adapter_low");
  if (cut() && row) {
    d_.collective({.comm = d_.comm("tp"), .module = place_.linear.module}, low_, low_,
                  z_.rows * rank());
  } else if (cut()) {
    low_ = gathered_columns(low_, rank(), "adapter_low");
  }
  SlotId made = multiplied_up();
  if (cut() && row) {
    made = gathered_columns(made, place_.linear.out, "adapter_up");
    if (d_.plan().sequence_parallel) made = d_.tp_part(made, "adapter_rows");
  }
  const SlotId scaled_up = scaled(made, "adapter_scaled");
  const SlotId sum = d_.tensor("adapted", d_.slot(y).elements, d_.slot(y).dtype);
  d_.kernel({.kernel = Kernel::add, .dims = {d_.slot(y).elements}, .module = place_.linear.module},
            {y, scaled_up}, {sum});
  return sum;
}

/// (T, out of this rank) -> (T, parts r): this rank's summand
SlotId LinearAdapter::backward_up(SlotId dy) {
  OperandList grads;
  for (std::size_t i = 0; i < up_.size(); ++i) {
    const SlotId dc = output_part(dy, i);
    const ProductOperands of_input{.left = dc, .right = params_.slots(up_[i]).weight, .scales = {}};
    grads.push_back(input_gradient(d_, up(i), of_input));
    weight_gradient(d_, params_, up(i), {.left = dc, .right = low_part(low_, i), .scales = {}});
  }
  return joined(grads, low_width(), "dadapter_low");
}

SlotId LinearAdapter::backward(SlotId x, SlotId dy, InputGrad input) {
  const bool row = place_.side == AdaptedSide::row;
  SlotId grad = scaled(dy, "dadapter_scaled");
  if (cut() && row) {
    grad = gather_rows(d_, z_, grad, place_.linear.out);
    grad = own_columns(grad, place_.linear.out, "dadapter_up");
  }
  SlotId dlow = backward_up(grad);
  if (cut())
    d_.collective({.comm = d_.comm("tp"), .module = place_.linear.module}, dlow, dlow,
                  z_.rows * rank());
  if (cut() && !row) dlow = own_columns(dlow, rank(), "dadapter_low");
  const ProductOperands of_input{.left = dlow, .right = params_.slots(down_).weight, .scales = {}};
  const SlotId dx = input == InputGrad::needed ? input_gradient(d_, down(), of_input) : kNone;
  weight_gradient(d_, params_, down(), {.left = dlow, .right = x, .scales = {}});
  return dx;
}

}  // namespace windtunnel
