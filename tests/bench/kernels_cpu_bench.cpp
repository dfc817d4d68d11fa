// Speed of the CPU's kernels on one thread. Matrix products and attention report FLOP/s (the
// program's count: 2 m n k; 4 and 10 micro a s^2 d, half when causal), the others bytes/s of their
// operands.

#include <benchmark/benchmark.h>

#include <vector>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/flash.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/loss.h"
#include "kernels/cpu/norm.h"
#include "kernels/cpu/optimizer.h"
#include "kernels/cpu/rope.h"

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

/// Rows of a hidden tensor that does not fit into the second-level cache, as in a step.
constexpr std::int64_t kRows = 2048, kColumns = 1024, kElements = kRows * kColumns;

/// `elements` of T are read or written once a run.
template <class T, class Run>
void memory_bound(benchmark::State& state, std::int64_t elements, Run run) {
  for (auto _ : state) {
    run();
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * elements * static_cast<std::int64_t>(sizeof(T)));
}

template <class T>
void LayerNorm(benchmark::State& state) {
  const cpu::NormDims d{.t = kRows, .h = kColumns};
  const auto x = numbers<T>(kElements), gamma = numbers<T>(kColumns);
  auto y = x, stats = numbers<T>(2 * kRows), sums = numbers<T>(2 * kColumns);
  if (state.range(0) != 0) {
    memory_bound<T>(state, 2 * kElements, [&] {
      cpu::layernorm_fwd<T>(d, {x.data(), gamma.data(), gamma.data(), y.data(), stats.data()});
    });
  } else {
    memory_bound<T>(state, 3 * kElements, [&] {
      cpu::layernorm_bwd<T>(d, {x.data(), x.data(), gamma.data(), stats.data(), y.data(),
                                sums.data(), sums.data() + kColumns});
    });
  }
}
BENCHMARK(LayerNorm<float>)->ArgName("forward")->Arg(1)->Arg(0);

template <class T>
void Activation(benchmark::State& state) {
  const auto kind = static_cast<cpu::ActivationKind>(state.range(1));
  const cpu::ActivationDims d{.t = kRows, .f = kColumns, .kind = kind};
  const std::int64_t width = cpu::is_gated(kind) ? 2 * kElements : kElements;
  const auto x = numbers<T>(width);
  auto y = numbers<T>(kElements), dx = x;
  if (state.range(0) != 0) {
    memory_bound<T>(state, width + kElements, [&] { cpu::activation_fwd(d, x.data(), y.data()); });
  } else {
    memory_bound<T>(state, 2 * width + kElements,
                    [&] { cpu::activation_bwd(d, y.data(), x.data(), dx.data()); });
  }
}
BENCHMARK(Activation<float>)->ArgNames({"forward", "kind"})->ArgsProduct({{1, 0}, {0, 1, 2, 3}});

template <class T>
void Rope(benchmark::State& state) {
  auto qkv = numbers<T>(kRows * 3 * kColumns);
  memory_bound<T>(state, 4 * kElements, [&] {
    cpu::rope<T>({.t = kRows, .a = kColumns / 64, .k = kColumns / 64, .d = 64}, {.micro = 1},
                 cpu::Rotation::forward, qkv.data());
  });
}
BENCHMARK(Rope<float>);

template <class T>
void DropoutAdd(benchmark::State& state) {
  const auto x = numbers<T>(kElements);
  auto y = x;
  std::vector<std::uint8_t> mask(kElements);
  memory_bound<T>(state, 3 * kElements, [&] {
    cpu::dropout_add<T, std::uint8_t>(
        {.probability = 0.1}, {},
        {kRows, kColumns, x.data(), x.data(), nullptr, y.data(), mask.data()});
  });
}
BENCHMARK(DropoutAdd<float>);

template <class T>
void ResidualAdd(benchmark::State& state) {
  const auto x = numbers<T>(kElements);
  auto y = x;
  memory_bound<T>(state, 3 * kElements, [&] {
    cpu::residual_add<T>({kRows, kColumns, x.data(), y.data(), nullptr, y.data()});
  });
}
BENCHMARK(ResidualAdd<float>);

template <class T>
void BiasGradient(benchmark::State& state) {
  const auto dc = numbers<T>(kElements);
  auto bias = numbers<T>(kColumns);
  memory_bound<T>(state, kElements,
                  [&] { cpu::bias_bwd({.m = kRows, .n = kColumns}, dc.data(), bias.data()); });
}
BENCHMARK(BiasGradient<float>);

template <class T>
void CrossEntropy(benchmark::State& state) {
  const cpu::LossDims d{.t = 64, .v = 32768, .vocab = 32000, .divisor = 64};
  const auto logits = numbers<T>(kElements);
  const std::vector<std::int64_t> labels(64, 5);
  auto probs = logits, rows = numbers<T>(3 * d.t);
  T* const maxima = rows.data();
  memory_bound<T>(state, 5 * kElements, [&] {
    cpu::ce_max(d, logits.data(), maxima);
    cpu::ce_partial<T, std::int64_t>(
        d, {logits.data(), labels.data(), maxima, probs.data(), maxima + d.t, maxima + 2 * d.t});
    cpu::ce_bwd(d, probs.data(), maxima + 2 * d.t, labels.data(), probs.data());
  });
}
BENCHMARK(CrossEntropy<float>);

template <class T>
void Adamw(benchmark::State& state) {
  const auto g = numbers<T>(kElements);
  auto master = g, m = g, w = g;
  std::vector<T> v(kElements, T{1});
  memory_bound<T>(state, 8 * kElements, [&] {
    cpu::adamw<T>({}, 3, {kElements, g.data(), T{1}, master.data(), m.data(), v.data(), w.data()});
  });
}
BENCHMARK(Adamw<float>);

}  // namespace
}  // namespace windtunnel
