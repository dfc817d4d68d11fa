#pragma once
// What a stream costs the thread that feeds it.
//
//   launch       handing one task to a stream that is busy: the host's time per op
//   synchronize  an empty task on an idle stream, until the host knows that it has run: waking a
//                thread twice

#include "calibrate/fit/robust.h"
#include "kernels/device/device.h"

namespace windtunnel {

struct LaunchTiming {
  RobustSummary launch, synchronize;  // seconds
};

/// Uses stream 0. Takes some milliseconds.
LaunchTiming measure_launch(Device& device);

}  // namespace windtunnel
