#include "calibrate/measure/prepared_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/check.h"
#include "core/counter_random.h"
#include "runtime/kernel_rows.h"

namespace windtunnel {

namespace {

constexpr std::int64_t kMostCopies = 1024;
/// A core's own second cache is 1 MiB or more; a step that touches less finds everything there.
constexpr std::int64_t kOwnCache = std::int64_t{1} << 20;
constexpr int kStep = 1;  // a step that is not the first: AdamW's bias corrections are at work
/// Contents repeat after this many elements: drawing each would take longer than measuring.
constexpr std::int64_t kDrawn = 4096;

template <class T>
std::int64_t element_bytes(Content content) {
  if (!std::is_same_v<T, float>) return sizeof(T);
  switch (content) {
    case Content::tokens:
    case Content::choices:
      return sizeof(typename DeviceCall<T>::Token);
    case Content::mask:
      return sizeof(typename DeviceCall<T>::Mask);
    default:
      return sizeof(T);
  }
}

template <class U, class Draw>
void repeat(void* at, std::int64_t elements, Draw draw) {
  U* to = static_cast<U*>(at);
  const std::int64_t drawn = std::min(elements, kDrawn);
  for (std::int64_t i = 0; i < drawn; ++i) to[i] = static_cast<U>(draw(i));
  for (std::int64_t i = drawn; i < elements; i += drawn) {
    std::copy(to, to + std::min(drawn, elements - i), to + i);
  }
}

}  // namespace

/// A block of keys is of some rank of a ring: of the smallest that has such a step, or such a part
/// of the sequence.
template <class T>
void PreparedKernel<T>::place_in_ring() {
  const Shape& s = task_.shape;
  if (s.kernel != Kernel::flash_block_fwd && s.kernel != Kernel::flash_block_bwd) return;
  const bool whole = (s.attr & kWholeKeys) != 0;
  const std::int64_t ranks =
      whole ? s.dims[5] / std::max<std::int64_t>(1, s.dims[1]) : s.dims[5] + 1;
  program_.mesh.cp = static_cast<int>(std::max<std::int64_t>(1, ranks));
  program_.job.sequence = program_.mesh.cp * s.dims[1];
  at_.cp = program_.mesh.cp - 1;
}

template <class T>
PreparedKernel<T>::PreparedKernel(const KernelTask& task, const OperandSettings& settings,
                                  Device& device)
    : task_(task), settings_(settings), operands_(operands_of(task.shape)), device_(device) {
  CHECK(operands_.all.size() <= kMostOperands, "an op has no more operands than a call has room");
  program_.job = task.job;
  place_in_ring();
  op_.kind = OpKind::compute;
  op_.layer = 0;
  op_.inputs = static_cast<std::uint8_t>(operands_.inputs);
  op_.refs = static_cast<std::uint8_t>(operands_.all.size());
  norm_ranges_ = {{.begin = 0, .end = task.shape.dims[0]}};
  std::int64_t old_bytes = 0;
  for (const KernelOperand& o : operands_.all) {
    if (o.touched == Touched::old && o.same_as < 0) {
      old_bytes += o.elements * element_bytes<T>(o.content);
    }
  }
  const std::int64_t wanted = settings.touched_bytes > kOwnCache ? settings.rotated_bytes : 0;
  const std::int64_t copies =
      old_bytes == 0 ? 1 : std::clamp(wanted / old_bytes, std::int64_t{1}, kMostCopies);
  try {
    for (std::int64_t c = 0; c < copies; ++c) {
      OperandBlocks blocks{};
      for (std::size_t i = 0; i < operands_.all.size(); ++i) {
        const KernelOperand& o = operands_.all[i];
        if (o.same_as >= 0) {
          blocks[i] = blocks[static_cast<std::size_t>(o.same_as)];
        } else if (c > 0 && o.touched == Touched::recent) {
          blocks[i] = calls_.front()[i];
        } else {
          blocks[i] = block_for(o, c > 0 ? calls_.front()[i].data : nullptr);
        }
      }
      calls_.push_back(blocks);
    }
  } catch (...) {
    for (void* block : blocks_) device_.deallocate(block);
    throw;
  }
}

template <class T>
PreparedKernel<T>::~PreparedKernel() {
  for (void* block : blocks_) device_.deallocate(block);
}

template <class T>
OperandBlock PreparedKernel<T>::block_for(const KernelOperand& operand, const void* like) {
  const std::int64_t bytes =
      std::max<std::int64_t>(1, operand.elements) * element_bytes<T>(operand.content);
  void* data = device_.allocate(bytes, 0);
  blocks_.push_back(data);
  const OperandBlock block{.data = data, .elements = operand.elements};
  if (like != nullptr) {
    std::memcpy(data, like, static_cast<std::size_t>(bytes));
  } else {
    fill(block, operand);
  }
  return block;
}

template <class T>
void PreparedKernel<T>::fill(const OperandBlock& block, const KernelOperand& operand) {
  const std::uint64_t stream = blocks_.size();
  const auto hash = [&](std::int64_t i) {
    return counter_hash(settings_.seed, stream, static_cast<std::uint64_t>(i));
  };
  const auto vocabulary = static_cast<double>(std::max<std::int64_t>(1, task_.job.vocab));
  switch (operand.content) {
    case Content::numbers:
      return repeat<T>(block.data, block.elements, [&](auto i) { return to_normal(hash(i)); });
    case Content::positive:
      return repeat<T>(block.data, block.elements,
                       [&](auto i) { return 0.1 + std::abs(to_normal(hash(i))); });
    case Content::tokens:
      return repeat<typename DeviceCall<T>::Token>(block.data, block.elements, [&](auto i) {
        return std::floor(to_unit_interval(hash(i)) * vocabulary);
      });
    case Content::choices: {
      auto* rows = static_cast<typename DeviceCall<T>::Token*>(block.data);
      for (std::int64_t i = 0; i < block.elements; ++i)
        rows[i] = reference::to_element<typename DeviceCall<T>::Token>(i % operand.below);
      return;
    }
    case Content::mask:
      return repeat<typename DeviceCall<T>::Mask>(
          block.data, block.elements, [&](auto i) { return static_cast<double>(hash(i) & 1U); });
  }
}

template <class T>
void PreparedKernel<T>::run() {
  const OperandBlocks& operands = calls_[next_];
  next_ = (next_ + 1) % calls_.size();
  run_kernel(DeviceCall<T>{{.program = program_,
                            .op = op_,
                            .shape = task_.shape,
                            .call = {.micro_batch = 0},
                            .at = at_,
                            .step = kStep,
                            .seed = settings_.seed,
                            .norm_ranges = norm_ranges_},
                           operands});
}

template <class T>
void PreparedKernel<T>::refresh() {
  if (!operands_.decays) return;
  for (std::size_t i = 0; i < operands_.all.size(); ++i) {
    const KernelOperand& o = operands_.all[i];
    if (o.same_as < 0) fill(calls_[next_][i], o);
  }
}

template class PreparedKernel<float>;
template class PreparedKernel<double>;

}  // namespace windtunnel
