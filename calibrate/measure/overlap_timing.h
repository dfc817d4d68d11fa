#pragma once
// How a matrix product and a transfer slow each other when they run at the same time.
//
// Stream 0 runs the kernel again and again while stream 1 carries out a fixed number of transfers;
// kernels that ran wholly beside transfers and the transfers themselves are timed, then each alone.
// Every member calls it with the same plan.

#include "calibrate/measure/prepared_kernel.h"
#include "calibrate/measure/transfer_timing.h"

namespace windtunnel {

struct OverlapPlan {
  KernelTask kernel;  // best some times shorter than all transfers together
  OperandSettings operands{};
  TransferPlan transfer;  // `repeats` of them
};

/// Medians of one run, seconds; a kernel longer than all transfers together has none beside them:
/// then `kernel_beside` is 0.
struct OverlapTiming {
  double kernel_alone = 0.0, kernel_beside = 0.0;
  double transfer_alone = 0.0, transfer_beside = 0.0;

  /// Extra time as a fraction, from 0 to the 8 that the engine takes.
  double kernel_theft() const;
  double transfer_theft() const;
};

/// The device has at least two streams. Throws OutOfDeviceMemory, ExecutionError, TransferError.
template <class T>
OverlapTiming measure_overlap(const OverlapPlan& plan, Device& device, Communicator& communicator,
                              const Barrier& barrier);

}  // namespace windtunnel
