#pragma once
// What holds a step back: the class with the largest share of its time, and what to do about it.
//
// The rule: label = argmax over the five classes of the seconds of the breakdown that belong to
// them; the next one is the runner-up. A class gathers *causes*, the parts of the breakdown; the
// lever is that of the class' largest cause, so "exposed_comm" from tp and from dp get different
// advice. Causes are rows of one table.

#include <cstdint>
#include <span>

#include "report/step_report.h"

namespace windtunnel {

enum class BottleneckClass : std::uint8_t { compute, memory, exposed_comm, host, bubble, count };

/// One part of the breakdown, the class it counts for and what shortens it.
struct BottleneckCause {
  BottleneckClass cls;
  const char* name;
  double (*seconds)(const Breakdown& breakdown);
  const char* lever;
};

std::span<const BottleneckCause> bottleneck_causes();

/// "compute", "memory", "exposed_comm", "host", "bubble": the words of the report and the JSON.
const char* name_of(BottleneckClass cls);

/// Seconds of the breakdown that belong to the class.
double seconds_of(const Breakdown& breakdown, BottleneckClass cls);

struct Bottleneck {
  BottleneckClass label = BottleneckClass::compute;
  BottleneckClass runner_up = BottleneckClass::memory;
  double label_share = 0.0,
         runner_up_share = 0.0;  // of the sum of all classes; 0 for an empty step
  const char* cause = "";        // the label's largest cause
  const char* lever = "";
};

/// Equal shares: the class named first in the enumeration.
Bottleneck find_bottleneck(const Breakdown& breakdown);

}  // namespace windtunnel
