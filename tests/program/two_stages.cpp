#include "tests/program/two_stages.h"

#include <initializer_list>

namespace windtunnel {

namespace {

constexpr std::int64_t kRows = 4, kWidth = 8, kActivations = kRows * kWidth;
constexpr std::int64_t kWeights = kWidth * kWidth, kShard = kWeights / 2;
enum : std::uint32_t { kDp, kForwardPath, kBackwardPath, kWorld };  // communicators

/// Writes one role, segment by segment.
class Stage {
 public:
  Stage(Program& program, int rank) : p_(program), first_(rank == 0) {
    role_.pipeline_rank = rank;
    role_.chunks = {{.global_chunk = rank,
                     .layer_begin = rank,
                     .layer_end = rank + 1,
                     .has_embedding = first_,
                     .has_head = !first_}};
  }

  Role write() {
    declare();
    const std::uint32_t startup = segment("startup", [&] { write_startup(); });
    const std::uint32_t receive = segment("receive", [&] { write_receive(); });
    const std::uint32_t forward = segment("forward", [&] { write_forward(); });
    const std::uint32_t backward = segment("backward", [&] { write_backward(); });
    const std::uint32_t send = segment("send", [&] { write_send(); });
    const std::uint32_t finish = segment("finish_send", [&] { write_finish_send(); });
    const std::uint32_t end = segment("step_end", [&] { write_step_end(); });
    role_.prologue = {{.segment = startup}};
    for (const std::int32_t i : {0, 1}) {
      const auto call = [&](std::uint32_t s) {
        const bool marked = s == forward || s == backward;
        role_.calls.push_back({.segment = s,
                               .chunk = 0,
                               .micro_batch = i,
                               .first_micro_batch = marked && i == 0,
                               .last_micro_batch = marked && i == 1});
      };
      if (first_) {
        for (const std::uint32_t s : {forward, send, receive, backward, finish}) call(s);
      } else {
        for (const std::uint32_t s : {receive, forward, backward, send, finish}) call(s);
      }
    }
    role_.calls.push_back({.segment = end});
    return std::move(role_);
  }

 private:
  std::uint32_t name(const char* text) {
    p_.names.emplace_back(text);
    return static_cast<std::uint32_t>(p_.names.size() - 1);
  }

  SlotId slot(const char* text, Slot s) {
    s.name = name(text);
    role_.slots.push_back(s);
    return static_cast<SlotId>(role_.slots.size() - 1);
  }

  SlotId shard_of(SlotId whole, const char* text) {
    Slot s = role_.slots[whole];
    s.parent = whole;
    s.param = kNone;
    s.elements = s.dp_stride = kShard;
    return slot(text, s);
  }

  void declare() {
    const auto fixed = [](std::int64_t n, Dtype type, Category c) {
      return Slot{.elements = n, .dtype = type, .space = Space::statics, .category = c};
    };
    const auto frame = [](std::int16_t layer) {
      return Slot{.elements = kActivations,
                  .dtype = Dtype::bf16,
                  .space = Space::frame,
                  .chunk = 0,
                  .layer = layer};
    };
    p_.params.push_back({.name = name("linear"), .rows = kWidth, .cols = kWidth});
    weights_ = slot("weights", fixed(kWeights, Dtype::bf16, Category::weights));
    grads_ = slot("grads", fixed(kWeights, Dtype::fp32, Category::grads));
    master_ = slot("master", fixed(kShard, Dtype::fp32, Category::master_weights));
    norm_ = slot("norm", fixed(1, Dtype::fp32, Category::scalars));
    for (const SlotId s : {weights_, grads_})
      role_.slots[s].param = static_cast<std::uint32_t>(p_.params.size() - 1);
    weight_shard_ = shard_of(weights_, "weight_shard");
    grad_shard_ = shard_of(grads_, "grad_shard");
    const auto layer = static_cast<std::int16_t>(role_.pipeline_rank);
    x_ = slot("x", frame(layer));
    y_ = slot("y", frame(layer));
    dy_ = slot("dy", frame(layer));
    dx_ = slot("dx", frame(layer));
    for (std::uint32_t* event : {&ready_, &received_, &computed_, &sent_}) {
      const char* text = event == &ready_      ? "ready"
                         : event == &received_ ? "received"
                         : event == &computed_ ? "computed"
                                               : "sent";
      role_.events.push_back({.name = name(text), .per_frame = true});
      *event = static_cast<std::uint32_t>(role_.events.size() - 1);
    }
  }

  template <class Body>
  std::uint32_t segment(const char* text, Body body) {
    const auto begin = static_cast<std::uint32_t>(p_.ops.size());
    body();
    p_.segments.push_back({.name = name(text),
                           .op_begin = begin,
                           .op_end = static_cast<std::uint32_t>(p_.ops.size())});
    return static_cast<std::uint32_t>(p_.segments.size() - 1);
  }

  void op(Op op, std::initializer_list<SlotId> operands) {
    op.phase = phase_;
    op.ref_begin = static_cast<std::uint32_t>(p_.refs.size());
    op.refs = static_cast<std::uint8_t>(operands.size());
    p_.refs.insert(p_.refs.end(), operands);
    p_.ops.push_back(op);
  }
  void take(SlotId s) { op({.kind = OpKind::alloc, .layer = role_.slots[s].layer}, {s}); }
  void give_back(SlotId s) { op({.kind = OpKind::free, .layer = role_.slots[s].layer}, {s}); }
  void record(std::uint32_t event, Stream s) {
    op({.kind = OpKind::record, .stream = s, .event = event}, {});
  }
  void wait(std::uint32_t event, Stream s) {
    op({.kind = OpKind::wait, .stream = s, .event = event}, {});
  }
  void kernel(Kernel k, std::uint8_t inputs, std::initializer_list<SlotId> operands) {
    const bool matrix = row_of(k).cls == KernelClass::gemm;
    Shape shape{.kernel = k};
    shape.dims[0] = matrix ? kRows : kShard;
    if (matrix) shape.dims[1] = shape.dims[2] = kWidth;
    p_.shapes.push_back(shape);
    op({.kind = OpKind::compute,
        .launches = 1,
        .inputs = inputs,
        .layer = static_cast<std::int16_t>(matrix ? role_.pipeline_rank : -1),
        .shape = static_cast<std::uint32_t>(p_.shapes.size() - 1)},
       operands);
  }
  void collective(Collective c, std::uint32_t comm, SlotId in, SlotId out) {
    const SlotId full = c == Collective::all_gather ? out : in;
    op({.kind = OpKind::collective,
        .collective = c,
        .reduce = c == Collective::all_gather       ? ReduceOp::none
                  : c == Collective::reduce_scatter ? ReduceOp::average
                                                    : ReduceOp::sum,
        .launches = 1,
        .inputs = 1,
        .comm = comm,
        .elements = role_.slots[full].elements,
        .dtype = role_.slots[full].dtype},
       {in, out});
  }
  void transfer(OpKind kind, SlotId s, Stream stream) {
    op({.kind = kind,
        .stream = stream,
        .launches = 1,
        .inputs = static_cast<std::uint8_t>(kind == OpKind::send ? 1 : 0),
        .peer = static_cast<std::int16_t>(first_ ? 1 : 0),
        .comm = phase_ == Phase::forward ? kForwardPath : kBackwardPath,
        .elements = kActivations,
        .dtype = Dtype::bf16},
       {s});
  }

  void write_startup() {
    phase_ = Phase::startup;
    for (const SlotId s : {weights_, grads_, master_, norm_}) take(s);
  }
  void write_receive() {
    phase_ = first_ ? Phase::backward : Phase::forward;
    const Stream stream = first_ ? Stream::pp_recv_bwd : Stream::pp_recv_fwd;
    take(first_ ? dy_ : x_);
    record(ready_, Stream::compute);
    wait(ready_, stream);
    transfer(OpKind::recv, first_ ? dy_ : x_, stream);
    record(received_, stream);
  }
  void write_forward() {
    phase_ = Phase::forward;
    if (first_) {
      take(x_);
      kernel(Kernel::load_tokens, 0, {x_});
    } else {
      wait(received_, Stream::compute);
    }
    take(y_);
    kernel(Kernel::gemm_fwd, 2, {x_, weights_, y_});
  }
  void write_backward() {
    phase_ = Phase::backward;
    if (first_) {
      wait(received_, Stream::compute);
      kernel(Kernel::copy, 1, {dy_, dy_});  // an embedding's part of the backward
    } else {
      take(dy_);
      kernel(Kernel::copy, 1, {y_, dy_});
      give_back(y_);
      take(dx_);
      kernel(Kernel::gemm_dgrad, 2, {dy_, weights_, dx_});
    }
    phase_ = Phase::weight_grad;
    kernel(Kernel::gemm_wgrad, 2, {dy_, x_, grads_});
    phase_ = Phase::backward;
    give_back(dy_);
    give_back(x_);
  }
  void write_send() {
    phase_ = first_ ? Phase::forward : Phase::backward;
    const Stream stream = first_ ? Stream::pp_send_fwd : Stream::pp_send_bwd;
    record(computed_, Stream::compute);
    wait(computed_, stream);
    transfer(OpKind::send, first_ ? y_ : dx_, stream);
    record(sent_, stream);
  }
  void write_finish_send() {
    wait(sent_, Stream::compute);
    give_back(first_ ? y_ : dx_);
  }
  void write_step_end() {
    phase_ = Phase::grad_sync;
    collective(Collective::reduce_scatter, kDp, grads_, grad_shard_);
    phase_ = Phase::optimizer;
    kernel(Kernel::sum_squares, 1, {grad_shard_, norm_});
    collective(Collective::all_reduce, kWorld, norm_, norm_);
    kernel(Kernel::sgd, 2, {grad_shard_, norm_, master_, weight_shard_});
    phase_ = Phase::param_sync;
    collective(Collective::all_gather, kDp, weight_shard_, weights_);
  }

  Program& p_;
  bool first_;
  Role role_;
  Phase phase_ = Phase::startup;
  SlotId weights_ = 0, grads_ = 0, master_ = 0, norm_ = 0, weight_shard_ = 0, grad_shard_ = 0;
  SlotId x_ = 0, y_ = 0, dy_ = 0, dx_ = 0;
  std::uint32_t ready_ = 0, received_ = 0, computed_ = 0, sent_ = 0;
};

}  // namespace

Program two_stages() {
  Program p;
  p.mesh = {.dp = 2, .pp = 2};
  p.job = {.micro = 1, .sequence = 4, .micro_batches = 2, .global_batch = 4};
  p.comms = {{.name = "dp", .axes = kAxisDp},
             {.name = "pp_fwd", .axes = kAxisPp},
             {.name = "pp_bwd", .axes = kAxisPp},
             {.name = "world", .axes = kAxisTp | kAxisDp | kAxisPp}};
  for (const int rank : {0, 1}) p.roles.push_back(Stage(p, rank).write());
  return p;
}

}  // namespace windtunnel
