// Speed of the CPU's kernels on one thread. Matrix products and attention report FLOP/s (the
// program's count: 2 m n k; 4 and 10 micro a s^2 d, half when causal), the others bytes/s of their
// operands.

#include <benchmark/benchmark.h>

#include <vector>

#include "kernels/cpu/flash.h"
#include "kernels/cpu/gemm.h"

namespace windtunnel {
namespace {

template <class T>
std::vector<T> numbers(std::int64_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  // Any numbers of both signs around 1 serve; denormals would be slower.
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(static_cast<double>(i % 17) / 8.0 - 1.0);
  }
  return values;
}

void count_flop(benchmark::State& state, double flop) {
  state.counters["FLOP/s"] =
      benchmark::Counter(flop, benchmark::Counter::kIsIterationInvariantRate);
}

/// Forward, input gradient and accumulated weight gradient.
enum class Side : std::uint8_t { forward, input, weight };

template <class T, Side side>
void Gemm(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const cpu::GemmDims d{.m = n, .n = n, .k = n};
  const auto a = numbers<T>(n * n), b = numbers<T>(n * n);
  auto c = numbers<T>(n * n);
  for (auto _ : state) {
    if constexpr (side == Side::forward) {
      cpu::gemm_fwd<T>(d, a.data(), b.data(), nullptr, c.data());
    } else if constexpr (side == Side::input) {
      cpu::gemm_dgrad(d, a.data(), b.data(), c.data());
    } else {
      cpu::gemm_wgrad(d, cpu::Update::accumulate, a.data(), b.data(), c.data());
    }
    benchmark::DoNotOptimize(c.data());
  }
  const auto x = static_cast<double>(n);
  count_flop(state, 2 * x * x * x);
}
BENCHMARK(Gemm<float, Side::forward>)->Arg(512)->Arg(1024);
BENCHMARK(Gemm<float, Side::input>)->Arg(512)->Arg(1024);
BENCHMARK(Gemm<float, Side::weight>)->Arg(512)->Arg(1024);
BENCHMARK(Gemm<double, Side::forward>)->Arg(512)->Arg(1024);

template <class T>
void Flash(benchmark::State& state) {
  const cpu::AttentionDims d{.micro = 1, .s = state.range(0), .a = 8, .k = 8, .d = 64};
  const bool forward = state.range(1) != 0, causal = state.range(2) != 0;
  cpu::FlashOptions options{.mask = {.causal = causal, .heads = d.a}, .dropout = {}};
  if (state.range(3) != 0) {
    options.dropout =
        cpu::FlashDropout{.key = {.probability = 0.1}, .elements = {.s = d.s, .a = d.a}};
  }
  const auto qkv = numbers<T>(d.s * d.width());
  auto out = numbers<T>(d.s * d.a * d.d), lse = numbers<T>(d.s * d.a), dqkv = qkv;
  cpu::flash_fwd(d, options, qkv.data(), out.data(), lse.data());
  for (auto _ : state) {
    if (forward) {
      cpu::flash_fwd(d, options, qkv.data(), out.data(), lse.data());
    } else {
      cpu::flash_bwd<T>(d, options, {out.data(), qkv.data(), out.data(), lse.data(), dqkv.data()});
    }
    benchmark::ClobberMemory();
  }
  const double scores = static_cast<double>(d.a * d.s * d.s) / (causal ? 2 : 1);
  count_flop(state, (forward ? 4 : 10) * scores * static_cast<double>(d.d));
}
#define FLASH_CASES                                 \
  ->ArgNames({"s", "forward", "causal", "dropout"}) \
      ->ArgsProduct({{512}, {1, 0}, {1, 0}, {0}})   \
      ->Args({512, 1, 1, 1})                        \
      ->Args({512, 0, 1, 1})
BENCHMARK(Flash<float>) FLASH_CASES;
BENCHMARK(Flash<double>) FLASH_CASES;

}  // namespace
}  // namespace windtunnel
