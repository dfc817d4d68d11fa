#pragma once
// A kernel of some shape with memory of its own on a device, ready to be run again and again.
//
// The operand that a step finds in the cache has one block, which every run uses. `old` operands
// (kernel_operands.h) have several copies that runs take in turn, together `rotated_bytes`, more
// than a core's own caches hold: a step leaves them for so long that what else runs on the machine
// has taken their place in a shared cache. The copies of a step that fits into a core's second
// cache are one.

#include <cstdint>
#include <vector>

#include "calibrate/measure/kernel_operands.h"
#include "kernels/device/device.h"
#include "runtime/device_call.h"

namespace windtunnel {

struct KernelTask {
  Shape shape;
  Job job;  // vocabulary, heads and dropout of the program that the shape is of
};

struct OperandSettings {
  std::int64_t touched_bytes = 0;  // what a step touches between two uses of an old operand
  std::int64_t rotated_bytes = std::int64_t{32} << 20;  // ten times a large second cache
  std::uint64_t seed = 1;                               // of the contents
};

/// T: the number type of the device's kernels, double or float.
template <class T>
class PreparedKernel {
 public:
  /// Takes memory from the pool of stream 0. Throws OutOfDeviceMemory.
  PreparedKernel(const KernelTask& task, const OperandSettings& settings, Device& device);
  ~PreparedKernel();
  PreparedKernel(const PreparedKernel&) = delete;
  PreparedKernel& operator=(const PreparedKernel&) = delete;

  /// On a stream's thread. Throws ExecutionError.
  void run();
  /// Before a timed run: fills again what decays. Returns at once for most kernels.
  void refresh();
  bool decays() const { return operands_.decays; }
  int copies() const { return static_cast<int>(calls_.size()); }

 private:
  void place_in_ring();
  /// With the content of `like`, drawn when that is null.
  OperandBlock block_for(const KernelOperand& operand, const void* like);
  void fill(const OperandBlock& block, const KernelOperand& operand);

  KernelTask task_;
  OperandSettings settings_;
  KernelOperands operands_;
  Device& device_;
  Program program_;  // the job, and the ring of a block of keys
  Coordinates at_;
  Op op_;
  std::vector<ParamRange> norm_ranges_;
  std::vector<void*> blocks_;
  std::vector<OperandBlocks> calls_;  // one per copy
  std::size_t next_ = 0;
};

}  // namespace windtunnel
