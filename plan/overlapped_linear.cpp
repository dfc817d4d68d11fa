#include "plan/overlapped_linear.h"

#include <functional>
#include <vector>

namespace windtunnel {

namespace {

bool pulls(const RoleDraft& d) {
  return d.rules().tp_overlap == TpOverlap::symmetric_memory;
}

SlotId copy_of(RoleDraft& d, SlotId from, SlotId to, Module module) {
  d.kernel({.kernel = Kernel::copy, .dims = {d.slot(from).elements}, .module = module}, {from},
           {to});
  return to;
}

/// A shift on the tp stream beside compute.
struct Shift {
  SlotId sent = kNone, received = kNone;
  int distance = 1;
  Module module = Module::mlp;
};

void shift(RoleDraft& d, const Shift& s) {
  d.collective({.collective = Collective::ring_shift,
                .reduce = ReduceOp::none,
                .comm = d.comm("tp"),
                .stream = Stream::tp,
                .module = s.module,
                .distance = s.distance},
               s.sent, s.received, d.slot(s.sent).elements);
}

std::uint32_t recorded(RoleDraft& d, std::string_view name) {
  const std::uint32_t event = d.event(name, false);
  d.record(event, Stream::tp);
  return event;
}

/// Rows on their way to all ranks: own (Ts, width), and where the others come to, (T, width).
struct Gathering {
  SlotId own = kNone, full = kNone;
  Module module = Module::mlp;
};

/// Multiplies every part as soon as it is there: `back`, whose it is, and its rows. Userbuffers
/// hand on what they received; with symmetric memory every rank copies its rows to where the others
/// can take them, and takes those of the next, then of the one after it.
void multiply_as_they_come(RoleDraft& d, const Gathering& g,
                           const std::function<void(int back, SlotId rows)>& multiply) {
  const int ranks = d.plan().tp;
  SlotId sent = g.own;
  if (pulls(d)) {
    sent = copy_of(d, g.own,
                   d.tensor("shared_rows", d.slot(g.own).elements, d.slot(g.own).dtype,
                            Category::comm_buffers),
                   g.module);
  }
  d.order({.to = Stream::tp, .event = "rows_ready"});
  SlotId rows = g.own;
  for (int i = 0, back = 0; i < ranks; ++i) {
    Shift next{.sent = sent, .module = g.module};
    const int next_back = pulls(d) ? ranks - 1 - i : i + 1;
    const bool last = i + 1 == ranks;
    std::uint32_t arrived = kNone;
    if (!last) {
      next.received = d.tp_part(g.full, "rows_received", next_back);
      next.distance = pulls(d) ? next_back : 1;
      shift(d, next);
      arrived = recorded(d, "rows_arrived");
    }
    multiply(back, rows);
    if (last) break;
    d.wait(arrived, Stream::compute, {next.sent});
    rows = next.received;
    back = next_back;
    if (!pulls(d)) sent = rows;
  }
}

Dtype wide_type(const RoleDraft& d, const Linear& l, SlotId operand) {
  return l.quantized ? d.plan().multiplied() : d.slot(operand).dtype;
}

/// Joins the ranges of output features: (kSplits, Ts, N/kSplits) -> (Ts, N). The reductions of
/// userbuffers write their columns in place (reducescatter2_userbuff_stridedoutput), so this is no
/// launch and no traffic of its own.
SlotId joined_columns(RoleDraft& d, const Linear& l, SlotId ranges) {
  const std::int64_t n = d.slot(ranges).elements;
  const SlotId out = d.tensor("scattered", n, d.slot(ranges).dtype);
  d.kernel({.kernel = Kernel::blocks_to_columns,
            .dims = {n / l.out, l.out, kSplits},
            .module = l.module,
            .continues = true,
            .extra_bytes = -d.slot(out).bytes()},
           {ranges}, {out});
  return out;
}

SlotId scattered_by_columns(RoleDraft& d, const Linear& l, const ProductOperands& whole,
                            std::string_view name) {
  const std::int64_t rows = d.slot(whole.left).elements / l.in, width = l.out / kSplits;
  const std::int64_t share = rows / d.plan().tp;
  const Dtype type = wide_type(d, l, whole.left);
  const SlotId ranges = d.tensor("scattered_columns", share * l.out, type, Category::comm_buffers);
  OperandList products;
  for (std::int64_t s = 0; s < kSplits; ++s) {
    ProductOperands o = whole;
    o.turns = kSplits;
    o.right = d.view(whole.right, "weight_part", s * width * l.in, width * l.in);
    d.slot(o.right).param = kNone;
    const SlotId out = d.tensor(name, rows * width, type);
    forward_product(d, l, o, out);
    d.order({.to = Stream::tp, .event = "columns_ready"});
    d.collective({.collective = Collective::reduce_scatter,
                  .comm = d.comm("tp"),
                  .stream = Stream::tp,
                  .module = l.module},
                 out, d.view(ranges, "columns_scattered", s * share * width, share * width),
                 rows * width);
    products.push_back(out);
  }
  d.wait(recorded(d, "columns_scattered"), Stream::compute, products);
  return joined_columns(d, l, ranges);
}

/// One kernel reads all partial sums and writes their sum.
SlotId sum_of(RoleDraft& d, const Linear& l, SlotId own, const std::vector<SlotId>& others) {
  for (std::size_t i = 0; i < others.size(); ++i) {
    const bool last = i + 1 == others.size();
    d.kernel({.kernel = Kernel::add,
              .dims = {d.slot(own).elements},
              .module = l.module,
              .continues = i > 0,
              .extra_bytes = last ? 0 : -d.slot(own).bytes()},
             {own, others[i]}, {own});
  }
  return own;
}

/// The products for the ranks behind, the farthest last, then this rank's own. Each waits for the
/// buffer of the product but one before it.
class PartialSums {
 public:
  PartialSums(RoleDraft& d, const Linear& l, const ProductOperands& whole, std::string_view name)
      : d_(d),
        l_(l),
        whole_(whole),
        name_(name),
        n_(d.slot(whole.left).elements / l.in / d.plan().tp * l.out),
        type_(wide_type(d, l, whole.left)) {}

  SlotId run() {
    constexpr std::size_t kBuffers = 2;  // _pipelined_produce_and_all2all
    const int ranks = d_.plan().tp;
    for (int ahead = 1; ahead < ranks; ++ahead) {
      if (sent_.size() - done_ == kBuffers) finish_one();
      send(product_for(ranks - ahead), ahead);
    }
    const SlotId own = product_for(0);
    while (done_ < sent_.size()) finish_one();
    return sum_of(d_, l_, own, received_);
  }

 private:
  struct Sent {
    SlotId part = kNone;
    std::uint32_t arrived = kNone;
  };

  SlotId product_for(int back) {
    ProductOperands o = whole_;
    o.turns = d_.plan().tp;
    o.left = d_.tp_part(whole_.left, "rows_part", back);
    const SlotId out = d_.tensor(name_, n_, type_);
    forward_product(d_, l_, o, out);
    return out;
  }

  void send(SlotId part, int ahead) {
    const SlotId theirs = d_.tensor("partial_sum", n_, type_, Category::comm_buffers);
    d_.order({.to = Stream::tp, .event = "rows_ready"});
    shift(d_, {.sent = part, .received = theirs, .distance = ahead, .module = l_.module});
    sent_.push_back({.part = part, .arrived = recorded(d_, "partial_sum_arrived")});
    received_.push_back(theirs);
  }

  void finish_one() {
    const Sent& s = sent_[done_++];
    d_.wait(s.arrived, Stream::compute, {s.part});
  }

  RoleDraft& d_;
  const Linear& l_;
  const ProductOperands& whole_;
  std::string_view name_;
  std::int64_t n_;
  Dtype type_;
  std::vector<Sent> sent_;
  std::vector<SlotId> received_;
  std::size_t done_ = 0;  // of the sent
};

/// dC quantised with scales of blocks, or of the whole tensor: (T, N) each.
struct GradientBuffers {
  SlotId rows = kNone, columns = kNone;  // columns: gathered, not made of the rows
};

QuantizedOperand own_rows(RoleDraft& d, const Linear& l, SlotId output_grad,
                          const GradientBuffers& buffers) {
  const SlotId own = d.tp_part(buffers.rows, "rows_part", 0);
  if (!l.quantized) return {.rows = copy_of(d, output_grad, own, l.module)};
  const QuantizedOperand dc =
      quantize(d, {.source = output_grad,
                   .role = OperandRole::gradient,
                   .layouts = buffers.columns == kNone ? Layouts::rows : Layouts::both,
                   .made_by = MadeBy::elementwise,
                   .row_shard = true,
                   .into = own,
                   .module = l.module});
  if (buffers.columns != kNone) d.hold(buffers.columns);  // taken before the tp stream fills it
  return dc;
}

/// Behind the last rows, beside the last product (TransformerEngine, pytorch/module/linear.py).
void gather_columns(RoleDraft& d, const Linear& l, SlotId own, SlotId columns) {
  d.collective({.collective = Collective::all_gather,
                .reduce = ReduceOp::none,
                .comm = d.comm("tp"),
                .stream = Stream::tp,
                .module = l.module},
               own, columns, d.slot(columns).elements);
  d.wait(recorded(d, "columns_gathered"), Stream::compute, {own});
}

}  // namespace

SlotId gathered_forward(RoleDraft& d, ChunkParameters& p, const Linear& l, const LinearInput& a,
                        std::string_view name) {
  ProductOperands o = forward_operands(d, p, l);
  if (l.quantized) add_scales(o, a.quantized.row_scales);
  o.turns = d.plan().tp;
  const SlotId own = l.quantized ? a.quantized.rows : a.shard;
  const std::int64_t rows = d.slot(own).elements / l.in * d.plan().tp;
  const SlotId c = d.tensor(name, rows * l.out, wide_type(d, l, own));
  multiply_as_they_come(d, {.own = own, .full = a.full, .module = l.module},
                        [&](int back, SlotId part) {
                          o.left = part;
                          forward_product(d, l, o, d.tp_part(c, name, back));
                        });
  if (d.rules().keep_gathered_input && !l.quantized)
    copy_of(d, own, d.tp_part(a.full, "rows_part", 0), l.module);
  return c;
}

SlotId scattered_forward(RoleDraft& d, ChunkParameters& p, const Linear& l, const LinearInput& a,
                         std::string_view name) {
  ProductOperands o = forward_operands(d, p, l);
  o.left = a.full;
  if (l.quantized) add_scales(o, a.quantized.row_scales);
  return pulls(d) ? PartialSums(d, l, o, name).run() : scattered_by_columns(d, l, o, name);
}

GatheredBackward gathered_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z,
                                   const Linear& l, SlotId output_grad) {
  const Dtype type = l.quantized ? d.plan().compute : d.slot(output_grad).dtype;
  const std::int64_t n = z.rows * l.out;
  const bool gathers_both = l.quantized && !scales_whole_tensors(d);
  const GradientBuffers full{.rows = d.tensor("gathered", n, type),
                             .columns = gathers_both ? d.tensor("gathered", n, type) : kNone};
  const QuantizedOperand dc = own_rows(d, l, output_grad, full);
  ProductOperands o = input_gradient_operands(d, p, l, dc);
  o.turns = d.plan().tp;
  GatheredBackward result{.input_grad = d.tensor("dgrad", z.rows * l.in, z.act),
                          .output_grad = {.rows = full.rows,
                                          .columns = full.rows,
                                          .row_scales = dc.row_scales,
                                          .column_scales = dc.column_scales}};
  multiply_as_they_come(
      d, {.own = dc.rows, .full = full.rows, .module = l.module}, [&](int back, SlotId part) {
        o.left = part;
        input_gradient_product(d, l, o, d.tp_part(result.input_grad, "dgrad_part", back));
      });
  if (gathers_both) {
    gather_columns(d, l, dc.columns, full.columns);
    result.output_grad.columns = full.columns;
  } else if (l.quantized) {
    result.output_grad.columns = other_layout(d, full.rows, l.module);
  }
  return result;
}

}  // namespace windtunnel
