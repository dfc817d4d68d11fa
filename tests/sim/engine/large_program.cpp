#include "tests/sim/engine/large_program.h"

#include <string>
#include <utility>

namespace windtunnel::toy {

namespace {

constexpr int kRunAhead = 1024;   // launches
constexpr std::uint32_t kTp = 2;  // after the pipeline's two communicators
constexpr int kBlocks = 4;        // an all-gather or reduce-scatter and kernels
constexpr int kKernelsPerBlock = 7;

/// What is left to 41 ops less the transfers' seven.
constexpr int kKernelsAtEnd = 2;

void write_layer(Toy& toy, bool backward) {
  for (int block = 0; block < kBlocks; ++block) {
    toy.collective(kTp, units(60));
    for (int k = 0; k < kKernelsPerBlock; ++k) toy.compute(units(backward ? 110 : 55) + 7919 * k);
  }
  for (int k = 0; k < kKernelsAtEnd; ++k) toy.compute(units(5), Kernel::residual_add);
}

/// After the last backward of each chunk its gradients are reduced; the step ends with the wait for
/// all of them and the optimizer.
void add_gradient_reduction(Toy& toy, const LargeSpec& spec) {
  const std::uint32_t dp = toy.comm("dp", kAxisDp);
  const int last = spec.micro_batches - 1;
  for (int role = 0; role < toy.program.mesh.pp; ++role) {
    const std::uint32_t ready = toy.event(role, false);
    const std::uint32_t reduced = toy.event(role, false);
    const std::uint32_t reduce = toy.segment("reduce");
    toy.record(ready, Stream::compute);
    toy.wait(ready, Stream::dp);
    toy.collective(dp, units(9000), Stream::dp);
    const std::uint32_t finish = toy.segment("finish");
    toy.record(reduced, Stream::dp);
    toy.wait(reduced, Stream::compute);
    toy.compute(units(2000), Kernel::adamw);
    auto& calls = toy.program.roles[static_cast<std::size_t>(role)].calls;
    for (const Call& call : std::exchange(calls, {})) {
      calls.push_back(call);
      const Segment& segment = toy.program.segments[call.segment];
      if (toy.program.names[segment.name] == "backward" && call.micro_batch == last) {
        calls.push_back({.segment = reduce, .chunk = call.chunk, .micro_batch = last});
      }
    }
    calls.push_back({.segment = finish});
  }
}

}  // namespace

Toy large_program(const LargeSpec& spec) {
  PipelineSpec pipeline_spec{.order = Order::interleaved,
                             .stages = 16,
                             .micro_batches = spec.micro_batches,
                             .chunks = 8,
                             .hop = units(300),
                             .tp = 8,
                             .dp = 128};
  pipeline_spec.body = [](Toy& toy, int, int, bool backward) { write_layer(toy, backward); };
  Toy toy = pipeline(pipeline_spec);
  toy.comm("tp", kAxisTp);
  add_gradient_reduction(toy, spec);
  toy.costs.launch.assign(static_cast<std::size_t>(spec.draws), units(3));
  toy.costs.run_ahead = kRunAhead;
  toy.costs.draws = spec.draws;
  for (const Picoseconds cost : std::exchange(toy.costs.duration, {})) {
    for (int draw = 0; draw < spec.draws; ++draw) {
      toy.costs.duration.push_back(cost + cost * draw / 100);
    }
  }
  return toy;
}

void add_theft(Toy& toy) {
  for (auto& cls : toy.costs.theft.compute) cls.fill(0.08);
  toy.costs.theft.transfer.fill(0.05);
}

}  // namespace windtunnel::toy
