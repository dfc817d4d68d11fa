#include "tests/sim/engine/toy_pipeline.h"

#include <algorithm>

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

}  // namespace

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
