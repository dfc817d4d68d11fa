#pragma once
// What a compute op leaves in the record of its step: weights it is the first to read, gradients
// and weights of an optimizer op, what a loss kernel adds, the norm that clipping reads.

#include <vector>

#include "kernels/reference/number.h"
#include "runtime/execution.h"
#include "runtime/rank_state.h"

namespace windtunnel {

template <class T>
class OpRecorder {
 public:
  OpRecorder(const Program& program, RankState<T>& rank, const Op& op, const Call& call)
      : operands_(program.operands(op)),
        rank_(rank),
        op_(op),
        call_(call),
        kernel_(program.shapes[op.shape].kernel) {}

  /// Before the kernel runs.
  void before(StepRecord& record) {
    record_used(record);
    if (updates()) record_update(operands_.front(), record.gradients);
    if (kernel_ == Kernel::ce_loss) loss_before_ = value(operands_.back());
  }

  /// After it ran.
  void after(StepRecord& record) {
    using N = reference::Number<T>;
    if (updates()) record_update(operands_.back(), record.updated);
    if (kernel_ == Kernel::ce_loss) {
      record.losses.push_back({.rank = rank_.id,
                               .dp_rank = rank_.at.dp,
                               .micro_batch = call_.micro_batch,
                               .loss = N::to_double(value(operands_.back()) - loss_before_)});
    }
    if (kernel_ == Kernel::clip_coefficient) {
      record.norms.push_back({.rank = rank_.id, .norm2 = N::to_double(value(operands_.front()))});
    }
  }

 private:
  bool updates() const { return kernel_ == Kernel::adamw || kernel_ == Kernel::sgd; }

  T value(SlotId scalar) {
    return *rank_.memory.written(rank_.memory.resolve(scalar, call_.micro_batch), scalar);
  }

  void append(std::vector<TensorPiece>& to, const MemoryRange& weights, const T* values) {
    for (TensorPiece& piece : pieces_of(rank_.params, rank_.id, weights, values)) {
      to.push_back(std::move(piece));
    }
  }

  void record_used(StepRecord& record) {
    if (op_.phase != Phase::forward && op_.phase != Phase::backward) return;
    for (std::size_t i = 0; i < op_.inputs; ++i) {
      const SlotId id = operands_[i];
      const Slot& slot = rank_.memory.slot(id);
      if (slot.param == kNone || slot.category != Category::weights) continue;
      if (!rank_.used.insert(id).second) continue;
      const MemoryRange range = rank_.memory.resolve(id, call_.micro_batch);
      append(record.used, range, rank_.memory.written(range, id));
    }
  }

  /// `values`: the gradient or the weight; the weight's place says which parameters it holds.
  void record_update(SlotId values, std::vector<TensorPiece>& to) {
    const SlotId weight = operands_.back();
    const MemoryRange weights = rank_.memory.resolve(weight, call_.micro_batch);
    const MemoryRange range = rank_.memory.resolve(values, call_.micro_batch);
    if (range.elements() != weights.elements()) {
      throw ExecutionError(rank_.memory.name(values) + " and " + rank_.memory.name(weight) +
                           " differ in size");
    }
    append(to, weights, rank_.memory.written(range, values));
  }

  std::span<const SlotId> operands_;
  RankState<T>& rank_;
  const Op& op_;
  const Call& call_;
  Kernel kernel_;
  T loss_before_{};
};

}  // namespace windtunnel
