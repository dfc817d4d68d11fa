#pragma once
// What a compute op leaves in the record of its step: weights it is the first to read, gradients
// and weights of an optimizer op, what a loss kernel adds, the norm that clipping reads.

#include <set>
#include <span>
#include <vector>

#include "kernels/reference/number.h"
#include "runtime/execution.h"
#include "runtime/rank_params.h"

namespace windtunnel {

/// One operand of the op: where it lies and its numbers.
template <class T>
struct NamedOperand {
  MemoryRange range;
  const T* data = nullptr;
};

/// The rank whose op it is. `used`: weights recorded in this step already.
struct RecordedRank {
  int id = 0;
  Coordinates at;
  const Role& role;
  const RankParams& params;
  std::set<SlotId>& used;
};

template <class T>
class OpRecorder {
 public:
  OpRecorder(const Program& program, RecordedRank rank, const Op& op, int micro_batch)
      : slots_(program.operands(op)),
        rank_(rank),
        op_(op),
        micro_batch_(micro_batch),
        kernel_(program.shapes[op.shape].kernel) {}

  /// Before the kernel runs. `operands`: all of the op's.
  void before(std::span<const NamedOperand<T>> operands, StepRecord& record) {
    record_used(operands, record);
    if (updates()) record_update(operands.front(), operands.back(), record.gradients);
    if (kernel_ == Kernel::ce_loss) loss_before_ = *operands.back().data;
  }

  /// After it ran.
  void after(std::span<const NamedOperand<T>> operands, StepRecord& record) {
    using N = reference::Number<T>;
    if (updates()) record_update(operands.back(), operands.back(), record.updated);
    if (kernel_ == Kernel::ce_loss) {
      record.losses.push_back({.rank = rank_.id,
                               .dp_rank = rank_.at.dp,
                               .micro_batch = micro_batch_,
                               .loss = N::to_double(*operands.back().data - loss_before_)});
    }
    if (kernel_ == Kernel::clip_coefficient) {
      record.norms.push_back({.rank = rank_.id, .norm2 = N::to_double(*operands.front().data)});
    }
  }

 private:
  static bool is_weight(Category category) {
    return category == Category::weights || category == Category::unsharded;
  }
  bool updates() const { return kernel_ == Kernel::adamw || kernel_ == Kernel::sgd; }

  void append(std::vector<TensorPiece>& to, const MemoryRange& weights, const T* values) {
    for (TensorPiece& piece : pieces_of(rank_.params, rank_.id, weights, values)) {
      to.push_back(std::move(piece));
    }
  }

  void record_used(std::span<const NamedOperand<T>> operands, StepRecord& record) {
    if (op_.phase != Phase::forward && op_.phase != Phase::backward) return;
    for (std::size_t i = 0; i < op_.inputs; ++i) {
      const Slot& slot = rank_.role.slots[slots_[i]];
      if (slot.param == kNone || !is_weight(slot.category)) continue;
      if (!rank_.used.insert(slots_[i]).second) continue;
      append(record.used, operands[i].range, operands[i].data);
    }
  }

  /// `values`: the gradient or the weight; the weight's place says which parameters it holds.
  void record_update(const NamedOperand<T>& values, const NamedOperand<T>& weight,
                     std::vector<TensorPiece>& to) {
    if (values.range.elements() != weight.range.elements()) {
      throw ExecutionError("the optimizer's gradient and weight differ in size");
    }
    append(to, weight.range, values.data);
  }

  std::span<const SlotId> slots_;
  RecordedRank rank_;
  const Op& op_;
  int micro_batch_;
  Kernel kernel_;
  T loss_before_{};
};

}  // namespace windtunnel
