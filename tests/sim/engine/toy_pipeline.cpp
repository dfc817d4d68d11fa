#include "tests/sim/engine/toy_pipeline.h"

#include <algorithm>
#include <initializer_list>

namespace windtunnel::toy {

namespace {

/// Virtual micro-batches of Megatron's interleaved order: groups of micro-batches go through all
/// chunks, backward chunks in reverse.
std::vector<Pass> table_of(const PipelineSpec& spec, bool backward) {
  const int group = spec.group > 0 ? spec.group : spec.stages;
  std::vector<Pass> table;
  for (int first = 0; first < spec.micro_batches; first += group) {
    const int last = std::min(first + group, spec.micro_batches);
    for (int chunk = 0; chunk < spec.chunks; ++chunk) {
      for (int m = first; m < last; ++m) {
        table.push_back({.backward = backward,
                         .chunk = backward ? spec.chunks - 1 - chunk : chunk,
                         .micro_batch = m});
      }
    }
  }
  return table;
}

int warm_up_of(const PipelineSpec& spec, int rank) {
  const int total = spec.micro_batches * spec.chunks;
  const int group = spec.group > 0 ? spec.group : spec.stages;
  switch (spec.order) {
    case Order::gpipe:
      return total;
    case Order::one_f_one_b:
      return std::min(spec.stages - 1 - rank, total);
    case Order::interleaved:
      return std::min(2 * (spec.stages - rank - 1) + (spec.chunks - 1) * group, total);
  }
  return total;
}

/// The transfers and the body of one pass; one segment per (role, direction, chunk).
class Writer {
 public:
  explicit Writer(const PipelineSpec& spec)
      : spec_(spec),
        toy_({.tp = spec.tp, .cp = spec.cp, .dp = spec.dp, .pp = spec.stages}, spec.chunks) {
    forward_comm_ = toy_.comm("pp_fwd", kAxisPp);
    backward_comm_ = toy_.comm("pp_bwd", kAxisPp);
  }

  Toy write() {
    for (int role = 0; role < spec_.stages; ++role) {
      const std::uint32_t arrived = toy_.event(role, true);
      const std::uint32_t done = toy_.event(role, true);
      std::vector<std::uint32_t> segments;
      for (const bool backward : {false, true}) {
        for (int chunk = 0; chunk < spec_.chunks; ++chunk) {
          segments.push_back(segment(role, {.backward = backward, .chunk = chunk}, arrived, done));
        }
      }
      for (const Pass& pass : passes_of(spec_, role)) {
        const int place = (pass.backward ? spec_.chunks : 0) + pass.chunk;
        toy_.call(role, segments[static_cast<std::size_t>(place)], pass.chunk, pass.micro_batch);
      }
    }
    return std::move(toy_);
  }

 private:
  std::uint32_t segment(int role, const Pass& pass, std::uint32_t arrived, std::uint32_t done) {
    const int last = spec_.stages * spec_.chunks - 1;
    const int stage = pass.chunk * spec_.stages + role;
    const int from = pass.backward ? stage + 1 : stage - 1;
    const int to = pass.backward ? stage - 1 : stage + 1;
    const std::uint32_t comm = pass.backward ? backward_comm_ : forward_comm_;
    const std::uint32_t made = toy_.segment(pass.backward ? "backward" : "forward");
    if (from >= 0 && from <= last) {
      const Stream stream = pass.backward ? Stream::pp_recv_bwd : Stream::pp_recv_fwd;
      toy_.recv(from % spec_.stages, comm, stream);
      toy_.record(arrived, stream);
      toy_.wait(arrived, Stream::compute);
    }
    if (spec_.body) {
      spec_.body(toy_, role, pass.chunk, pass.backward);
    } else {
      toy_.compute((pass.backward ? spec_.backward : spec_.forward) / spec_.chunks);
    }
    if (to >= 0 && to <= last) {
      const Stream stream = pass.backward ? Stream::pp_send_bwd : Stream::pp_send_fwd;
      toy_.record(done, Stream::compute);
      toy_.wait(done, stream);
      toy_.send(to % spec_.stages, comm, spec_.hop, stream);
    }
    return made;
  }

  const PipelineSpec& spec_;
  Toy toy_;
  std::uint32_t forward_comm_ = 0, backward_comm_ = 0;
};

/// Batched transfers of 1F1B; one segment per role and kind of step.
class BatchWriter {
 public:
  BatchWriter(const PipelineSpec& spec, Batches where)
      : spec_(spec),
        where_(where),
        toy_({.tp = spec.tp, .cp = spec.cp, .dp = spec.dp, .pp = spec.stages}) {
    toy_.comm("pp_fwd", kAxisPp);
    toy_.comm("pp_bwd", kAxisPp);
  }

  Toy write() {
    for (role_ = 0; role_ < spec_.stages; ++role_) write_role();
    return std::move(toy_);
  }

 private:
  struct Batch {
    bool send = false, recv = false;
    bool send_forward = false, recv_forward = false;  // the direction of each
  };

  void write_role() {
    arrived_ = toy_.event(role_, false);
    done_ = toy_.event(role_, false);
    const bool first = role_ == 0;
    const bool last = role_ == spec_.stages - 1;
    const std::uint32_t forward = body(false);
    const std::uint32_t backward = body(true);
    const std::uint32_t recv_fwd = batch({.recv = !first, .recv_forward = true});
    const std::uint32_t send_fwd = batch({.send = !last, .send_forward = true});
    const std::uint32_t recv_bwd = batch({.recv = !last});
    const std::uint32_t send_bwd = batch({.send = !first});
    const std::uint32_t down_up = batch({.send = !last, .recv = !last, .send_forward = true});
    const std::uint32_t up_down = batch({.send = !first, .recv = !first, .recv_forward = true});
    const int warm_up = std::min(spec_.stages - 1 - role_, spec_.micro_batches);
    const auto run = [&](std::initializer_list<std::uint32_t> segments, int micro_batch) {
      for (const std::uint32_t s : segments) toy_.call(role_, s, 0, micro_batch);
    };
    for (int m = 0; m < warm_up; ++m) run({recv_fwd, forward, send_fwd}, m);
    const int steady = spec_.micro_batches - warm_up;
    if (steady > 0) run({recv_fwd}, warm_up);
    for (int i = 0; i < steady; ++i) {
      run({forward, down_up}, warm_up + i);
      run({backward, i + 1 < steady ? up_down : send_bwd}, i);
    }
    for (int m = steady; m < spec_.micro_batches; ++m) run({recv_bwd, backward, send_bwd}, m);
  }

  std::uint32_t body(bool backward) {
    const std::uint32_t made = toy_.segment(backward ? "backward" : "forward");
    if (spec_.body) {
      spec_.body(toy_, role_, 0, backward);
    } else {
      toy_.compute(backward ? spec_.backward : spec_.forward);
    }
    return made;
  }

  std::uint32_t batch(const Batch& b) {
    const std::uint32_t made = toy_.segment("batch");
    if (!b.send && !b.recv) return made;
    const bool side = where_ == Batches::on_side;
    const Stream stream = side ? Stream::pp_send_fwd : Stream::compute;
    if (side) {
      toy_.record(done_, Stream::compute);
      toy_.wait(done_, stream);
    }
    if (b.send) {
      const int peer = role_ + (b.send_forward ? 1 : -1);
      toy_.send(peer, b.send_forward ? 0 : 1, spec_.hop, stream);
    }
    if (b.recv) {
      const int peer = role_ + (b.recv_forward ? -1 : 1);
      toy_.recv(peer, b.recv_forward ? 0 : 1, stream).grouped = b.send;
    }
    if (side) {
      toy_.record(arrived_, stream);
      toy_.wait(arrived_, Stream::compute);
    }
    return made;
  }

  const PipelineSpec& spec_;
  Batches where_;
  Toy toy_;
  int role_ = 0;
  std::uint32_t arrived_ = 0, done_ = 0;
};

}  // namespace

Toy batched_1f1b(const PipelineSpec& spec, Batches where) {
  return BatchWriter(spec, where).write();
}

std::vector<Pass> passes_of(const PipelineSpec& spec, int rank) {
  const std::vector<Pass> forward = table_of(spec, false);
  const std::vector<Pass> backward = table_of(spec, true);
  const auto warm_up = static_cast<std::size_t>(warm_up_of(spec, rank));
  std::vector<Pass> passes(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(warm_up));
  for (std::size_t k = 0; k < backward.size(); ++k) {
    if (warm_up + k < forward.size()) passes.push_back(forward[warm_up + k]);
    passes.push_back(backward[k]);
  }
  return passes;
}

Toy pipeline(const PipelineSpec& spec) {
  return Writer(spec).write();
}

}  // namespace windtunnel::toy
