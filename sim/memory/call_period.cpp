#include "sim/memory/call_period.h"

namespace windtunnel {
namespace {

bool repeats(const CallMemory& a, const CallMemory& b, int shift) {
  if (a.begin != b.begin || a.end != b.end) return false;
  if (a.micro_batch < 0 || b.micro_batch < 0) return a.micro_batch == b.micro_batch;
  return b.micro_batch - a.micro_batch == shift;
}

}  // namespace

CallPeriod find_period(std::span<const CallMemory> calls) {
  const int count = static_cast<int>(calls.size());
  const auto call = [&](int i) -> const CallMemory& { return calls[static_cast<std::size_t>(i)]; };
  int middle = count / 2;
  while (middle + 1 < count && call(middle).micro_batch < 0) ++middle;
  CallPeriod best;
  for (int other = middle + 1; other < count; ++other) {
    const int length = other - middle;
    const int shift = call(other).micro_batch - call(middle).micro_batch;
    if (!repeats(call(middle), call(other), shift)) continue;
    int begin = middle, end = middle + 1;  // calls that repeat
    while (begin > 0 && repeats(call(begin - 1), call(begin - 1 + length), shift)) --begin;
    while (end + length < count && repeats(call(end), call(end + length), shift)) ++end;
    const CallPeriod found{.begin = begin, .end = end + length, .length = length, .shift = shift};
    if (found.periods() >= kLeastPeriods && found.end - found.begin > best.end - best.begin) {
      best = found;
    }
    // A period that spans half of the step is the one: multiples of it span no more.
    if (best.length > 0 && 2 * (best.end - best.begin) >= count) break;
  }
  return best;
}

}  // namespace windtunnel
