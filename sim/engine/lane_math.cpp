#include "sim/engine/lane_math.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/check.h"
#include "core/counter_random.h"
#include "sim/engine/step_costs.h"

// Sanitizers instrument the resolvers that pick a clone before their runtime is up.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WINDTUNNEL_VECTOR_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WINDTUNNEL_VECTOR_CLONES
#endif

namespace windtunnel::lane_math {

namespace {

/// Lanes of the inner axis joined at a time: their maxima stay in the first-level cache.
constexpr int kJoinBlock = 512;

/// Sum of four uniform 16-bit numbers: mean 2 (2^16 - 1), variance (2^32 - 1) / 3.
constexpr std::int64_t kNoiseMean = 131070;
constexpr double kNoiseDeviation = 37837.22746;

}  // namespace

namespace many {

WINDTUNNEL_VECTOR_CLONES
void add(Picoseconds* times, Picoseconds amount, int lanes) {
  for (int i = 0; i < lanes; ++i) times[i] += amount;
}

WINDTUNNEL_VECTOR_CLONES
void add_each(Picoseconds* __restrict times, const Picoseconds* __restrict amounts, int lanes) {
  for (int i = 0; i < lanes; ++i) times[i] += amounts[i];
}

WINDTUNNEL_VECTOR_CLONES
void raise_to(Picoseconds* __restrict times, const Picoseconds* __restrict floor, int lanes) {
  for (int i = 0; i < lanes; ++i) times[i] = times[i] > floor[i] ? times[i] : floor[i];
}

WINDTUNNEL_VECTOR_CLONES
bool all_at_most(const Picoseconds* times, const Picoseconds* bound, int lanes) {
  Picoseconds most = 0;
  for (int i = 0; i < lanes; ++i) {
    const Picoseconds over = times[i] - bound[i];
    most = over > most ? over : most;
  }
  return most == 0;
}

WINDTUNNEL_VECTOR_CLONES
void add_gap(Picoseconds* __restrict part, GapPart gap, int lanes) {
  const Picoseconds* tail = gap.tail;
  const Picoseconds* end = gap.end;
  const Picoseconds* from = gap.from == nullptr ? gap.tail : gap.from;
  const Picoseconds* to = gap.to;
  for (int i = 0; i < lanes; ++i) {
    const Picoseconds low = from[i] > tail[i] ? from[i] : tail[i];
    const Picoseconds high = to[i] < end[i] ? to[i] : end[i];
    part[i] += high > low ? high - low : 0;
  }
}

WINDTUNNEL_VECTOR_CLONES
void work_through(Picoseconds* __restrict now, Picoseconds* __restrict work, SlowWindow window,
                  int lanes) {
  const Picoseconds* __restrict begin = window.begin;
  const Picoseconds* __restrict end = window.end;
  for (int i = 0; i < lanes; ++i) {
    const Progress next =
        lane_math::work_through({.now = now[i], .work = work[i]}, begin[i], end[i], window);
    now[i] = next.now;
    work[i] = next.work;
  }
}

}  // namespace many

WINDTUNNEL_VECTOR_CLONES
void join_line(Picoseconds* times, int length) {
  Picoseconds most = times[0];
  for (int i = 1; i < length; ++i) most = times[i] > most ? times[i] : most;
  for (int i = 0; i < length; ++i) times[i] = most;
}

void join_axis(Picoseconds* times, AxisShape shape) {
  std::array<Picoseconds, kJoinBlock> most;
  for (int outer = 0; outer < shape.outer; ++outer) {
    Picoseconds* plane = times + std::int64_t{outer} * shape.length * shape.inner;
    if (shape.inner == 1) {
      join_line(plane, shape.length);
      continue;
    }
    for (int first = 0; first < shape.inner; first += kJoinBlock) {
      const int block = std::min(kJoinBlock, shape.inner - first);
      Picoseconds* column = plane + first;
      std::copy_n(column, block, most.data());
      for (int i = 1; i < shape.length; ++i) {
        many::raise_to(most.data(), column + std::int64_t{i} * shape.inner, block);
      }
      for (int i = 0; i < shape.length; ++i) {
        std::copy_n(most.data(), block, column + std::int64_t{i} * shape.inner);
      }
    }
  }
}

WINDTUNNEL_VECTOR_CLONES
void run_uniform(StreamLanes stream, Picoseconds duration, int lanes) {
  const Picoseconds* __restrict host = stream.host;
  Picoseconds* __restrict tail = stream.tail;
  Picoseconds* __restrict idle = stream.idle;
  for (int i = 0; i < lanes; ++i) {
    const Picoseconds start = host[i] > tail[i] ? host[i] : tail[i];
    idle[i] += start - tail[i];
    tail[i] = start + duration;
  }
}

WINDTUNNEL_VECTOR_CLONES
void run_each(StreamLanes stream, const Picoseconds* __restrict durations, int lanes) {
  const Picoseconds* __restrict host = stream.host;
  Picoseconds* __restrict tail = stream.tail;
  Picoseconds* __restrict idle = stream.idle;
  for (int i = 0; i < lanes; ++i) {
    const Picoseconds start = host[i] > tail[i] ? host[i] : tail[i];
    idle[i] += start - tail[i];
    tail[i] = start + durations[i];
  }
}

WINDTUNNEL_VECTOR_CLONES
void add_multiple(Picoseconds* __restrict times, const Picoseconds* __restrict amounts,
                  std::int64_t count, int lanes) {
  for (int i = 0; i < lanes; ++i) times[i] += count * amounts[i];
}

WINDTUNNEL_VECTOR_CLONES
void run_stretch(StreamLanes stream, StretchLanes stretch, int lanes) {
  const Picoseconds* __restrict host = stream.host;
  Picoseconds* __restrict tail = stream.tail;
  Picoseconds* __restrict idle = stream.idle;
  for (int i = 0; i < lanes; ++i) {
    const Picoseconds busy_end = tail[i] + stretch.busy[i];
    const Picoseconds issue_end = host[i] + stretch.reach[i];
    const Picoseconds end = busy_end > issue_end ? busy_end : issue_end;
    idle[i] += end - busy_end;
    tail[i] = end;
  }
}

bool leaves_gap(const StreamLanes& stream, StretchLanes stretch, int lanes) {
  for (int i = 0; i < lanes; ++i) {
    if (stream.host[i] + stretch.reach[i] > stream.tail[i] + stretch.busy[i]) return true;
  }
  return false;
}

WINDTUNNEL_VECTOR_CLONES
void scale_each(Picoseconds* __restrict times, const FactorQ16* __restrict factors, int lanes) {
  for (int i = 0; i < lanes; ++i) times[i] = scale_q16(times[i], factors[i]);
}

std::int64_t noise_sigma(double sigma) {
  CHECK(sigma >= 0 && sigma <= kMostNoise, "jitter of at most a quarter keeps durations positive");
  return std::llround(sigma / kNoiseDeviation * 0x1.0p32);
}

WINDTUNNEL_VECTOR_CLONES
void add_noise(Picoseconds* __restrict times, NoiseKeys keys, int lanes) {
  const std::uint64_t* __restrict lane_keys = keys.lanes;
  for (int i = 0; i < lanes; ++i) {
    const std::uint64_t hash = mix64(lane_keys[i] ^ keys.op);
    const auto sum = static_cast<std::int64_t>((hash & 0xffff) + ((hash >> 16) & 0xffff) +
                                               ((hash >> 32) & 0xffff) + (hash >> 48));
    // One in Q32 added before the shift keeps it a shift of a positive number.
    const std::int64_t one = std::int64_t{1} << 32;
    const FactorQ16 factor = (one + (sum - kNoiseMean) * keys.sigma_q) >> 16;
    times[i] = scale_q16(times[i], factor);
  }
}

}  // namespace windtunnel::lane_math
