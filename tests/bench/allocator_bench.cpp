// Time of one alloc or free of the caching allocator on the pattern of a training step: forwards
// keep a frame of tensors per layer and take scratch in between, backwards take scratch and give
// the frame back, with as many micro-batches in flight as a pipeline stage has.

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "models/allocator/caching_allocator.h"

namespace windtunnel {
namespace {

// Per layer, of a 405B rank under tp 8 with sequence parallelism: hidden shards, qkv, attention
// output and its statistics, the two MLP widths, norm statistics (bytes).
constexpr std::array<std::int64_t, 9> kKept = {32 * kMiB,  36 * kMiB,  32 * kMiB, 512 * kKiB, 4096,
                                               104 * kMiB, 104 * kMiB, 32 * kMiB, 4096};
constexpr std::array<std::int64_t, 4> kScratch = {256 * kMiB, 36 * kMiB, 104 * kMiB, 256 * kMiB};

struct Step {
  CachingAllocator allocator;
  std::vector<CachingAllocator::Block> scratch;
  std::int64_t ops = 0;

  void take_and_return_scratch() {
    scratch.clear();
    for (const std::int64_t bytes : kScratch) scratch.push_back(allocator.alloc(bytes, 0));
    for (const CachingAllocator::Block block : scratch) allocator.free(block);
    ops += 2 * static_cast<std::int64_t>(kScratch.size());
  }

  std::vector<CachingAllocator::Block> forward(int layers) {
    std::vector<CachingAllocator::Block> frame;
    frame.reserve(kKept.size() * static_cast<std::size_t>(layers));
    for (int layer = 0; layer < layers; ++layer) {
      for (const std::int64_t bytes : kKept) frame.push_back(allocator.alloc(bytes, 0));
      take_and_return_scratch();
    }
    ops += static_cast<std::int64_t>(frame.size());
    return frame;
  }

  void backward(const std::vector<CachingAllocator::Block>& frame) {
    const std::size_t tensors = kKept.size();
    for (std::size_t end = frame.size(); end > 0; end -= tensors) {
      take_and_return_scratch();
      for (std::size_t i = end - tensors; i < end; ++i) allocator.free(frame[i]);
    }
    ops += static_cast<std::int64_t>(frame.size());
  }
};

/// 1F1B with `in_flight` micro-batches of `layers` layers, 64 micro-batches a step.
void TrainingStep(benchmark::State& state) {
  const int layers = static_cast<int>(state.range(0));
  const std::size_t in_flight = static_cast<std::size_t>(state.range(1));
  constexpr int kMicroBatches = 64;
  Step step;
  step.allocator.reset(
      {.capacity_bytes = std::int64_t{1} << 45, .expandable_segments = state.range(2) != 0});
  std::deque<std::vector<CachingAllocator::Block>> frames;
  for (auto _ : state) {
    for (int k = 0; k < kMicroBatches; ++k) {
      frames.push_back(step.forward(layers));
      if (frames.size() < in_flight) continue;
      step.backward(frames.front());
      frames.pop_front();
    }
    while (!frames.empty()) {
      step.backward(frames.front());
      frames.pop_front();
    }
  }
  state.counters["per_op"] = benchmark::Counter(
      static_cast<double>(step.ops), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(TrainingStep)
    ->ArgNames({"layers", "in_flight", "expandable"})
    ->Args({8, 1, 0})
    ->Args({8, 16, 0})
    ->Args({1, 142, 0})
    ->Args({8, 16, 1})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace windtunnel
