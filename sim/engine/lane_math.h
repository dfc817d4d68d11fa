#pragma once
// The inner loops: one arithmetic step of the sweep applied to all lanes of a role.
//
// Arrays hold one entry per lane and do not overlap unless said otherwise. Each loop is compiled
// for several vector widths and picked when the program starts; arithmetic is on integers, so every
// width gives the same result. O(lanes) each.

#include <algorithm>
#include <cstdint>

#include "core/units.h"
#include "sim/engine/fixed_point.h"

namespace windtunnel::lane_math {

/// A dense array seen as (outer, length, inner), the axis to join in the middle.
struct AxisShape {
  int outer = 1;
  int length = 1;
  int inner = 1;
};

/// Replaces every entry by the maximum over its line along the axis.
void join_axis(Picoseconds* times, AxisShape shape);

namespace many {  // the loops themselves; the functions below answer for a single lane in place
void add(Picoseconds* times, Picoseconds amount, int lanes);
void add_each(Picoseconds* times, const Picoseconds* amounts, int lanes);
void raise_to(Picoseconds* times, const Picoseconds* floor, int lanes);
bool all_at_most(const Picoseconds* times, const Picoseconds* bound, int lanes);
}  // namespace many

inline void add(Picoseconds* times, Picoseconds amount, int lanes) {
  if (lanes > 1) return many::add(times, amount, lanes);
  *times += amount;
}
inline void add_each(Picoseconds* times, const Picoseconds* amounts, int lanes) {
  if (lanes > 1) return many::add_each(times, amounts, lanes);
  *times += *amounts;
}
inline void raise_to(Picoseconds* times, const Picoseconds* floor, int lanes) {
  if (lanes > 1) return many::raise_to(times, floor, lanes);
  if (*times < *floor) *times = *floor;
}
inline bool all_at_most(const Picoseconds* times, const Picoseconds* bound, int lanes) {
  return lanes > 1 ? many::all_at_most(times, bound, lanes) : *times <= *bound;
}
inline void copy(Picoseconds* to, const Picoseconds* from, int lanes) {
  if (lanes > 1) {
    std::copy_n(from, lanes, to);
  } else {
    *to = *from;
  }
}
/// times += count * amounts.
void add_multiple(Picoseconds* times, const Picoseconds* amounts, std::int64_t count, int lanes);

/// A stream and the host that feeds it: tail and what the time until `host` is charged to.
struct StreamLanes {
  const Picoseconds* host;
  Picoseconds* tail;
  Picoseconds* idle;
};
/// start = max(host, tail); idle += start - tail; tail = start + duration.
void run_uniform(StreamLanes stream, Picoseconds duration, int lanes);
void run_each(StreamLanes stream, const Picoseconds* durations, int lanes);

/// Several ops as one: they keep the stream busy for `busy`, and the last ends no earlier than
/// `reach` after the host's time. One entry per lane.
struct StretchLanes {
  const Picoseconds* busy;
  const Picoseconds* reach;
};
/// end = max(tail + busy, host + reach); idle += end - tail - busy; tail = end.
void run_stretch(StreamLanes stream, StretchLanes stretch, int lanes);
/// Whether it would leave the stream idle on some lane.
bool leaves_gap(const StreamLanes& stream, StretchLanes stretch, int lanes);

/// part += the part of [tail, end] that lies in [from, to].
struct GapPart {
  const Picoseconds* tail;
  const Picoseconds* end;
  const Picoseconds* from;  // nullptr: since ever
  const Picoseconds* to;
};
namespace many {
void add_gap(Picoseconds* part, GapPart gap, int lanes);
}
inline void add_gap(Picoseconds* part, const GapPart& gap, int lanes) {
  if (lanes > 1) return many::add_gap(part, gap, lanes);
  const Picoseconds low = gap.from == nullptr ? *gap.tail : std::max(*gap.from, *gap.tail);
  *part += std::max<Picoseconds>(0, std::min(*gap.to, *gap.end) - low);
}

void scale_each(Picoseconds* times, const FactorQ16* factors, int lanes);

/// Noise of one op: lane i draws from hash(lane_keys[i], op_key).
struct NoiseKeys {
  const std::uint64_t* lanes;
  std::uint64_t op;
  std::int64_t sigma_q;  // see `noise_sigma`
};
/// Scales each time by 1 + sigma * z, z the standardised sum of four uniforms (Irwin-Hall: normal
/// to within 0.01 in distribution, |z| <= 3.47), all in integers.
void add_noise(Picoseconds* times, NoiseKeys keys, int lanes);
/// The relative standard deviation as add_noise takes it. Valid range: 0 to 0.25.
std::int64_t noise_sigma(double sigma);

/// Work that goes on beside a transfer active in [begin, end].
struct SlowWindow {
  const Picoseconds* begin;
  const Picoseconds* end;
  FactorQ16 theft;   // extra time per unit of work inside the window
  FactorQ16 stolen;  // theft / (1 + theft): lost share of the window
};
struct Progress {
  Picoseconds now;
  Picoseconds work;  // left to do, at full speed
};
/// Moves on to the window's end or the work's, whichever is first.
inline Progress work_through(Progress at, Picoseconds begin, Picoseconds end,
                             const SlowWindow& window) {
  // At full speed until the window opens.
  const Picoseconds lead = begin > at.now ? begin - at.now : 0;
  const Picoseconds before = at.work < lead ? at.work : lead;
  const Picoseconds now = at.now + before;
  const Picoseconds left = at.work - before;
  // Inside it: `useful` is the work the rest of the window has room for.
  const Picoseconds span = end > now ? end - now : 0;
  const Picoseconds useful = span - scale_q16(span, window.stolen);
  const Picoseconds slowed = left + scale_q16(left, window.theft);
  const bool outlasts = left > useful;
  const Picoseconds inside = slowed < span ? slowed : span;
  return {.now = now + (outlasts ? span : inside), .work = outlasts ? left - useful : 0};
}
namespace many {
void work_through(Picoseconds* now, Picoseconds* work, SlowWindow window, int lanes);
}
inline void work_through(Picoseconds* now, Picoseconds* work, const SlowWindow& window, int lanes) {
  if (lanes > 1) return many::work_through(now, work, window, lanes);
  const Progress next =
      work_through({.now = *now, .work = *work}, *window.begin, *window.end, window);
  *now = next.now;
  *work = next.work;
}

}  // namespace windtunnel::lane_math
