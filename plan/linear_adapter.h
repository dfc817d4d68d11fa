#pragma once
// The low-rank adapter beside one frozen linear layer (LoRA): y += (alpha / r) x A^T B^T.
//
// Forward keeps x, for A's gradient, and x A^T, for B's; the scaled product is a tensor of its own
// before it is added, and so is the scaled gradient (PEFT tuners/lora/layer.py, torchtune
// modules/peft/lora.py, Megatron-Bridge peft/utils.py alike). Backward runs before the frozen
// layer's.
//
// Over tp as in Megatron-Bridge's ParallelLinearAdapter (peft/utils.py @29836cce):
//   column-parallel W   A (r/tp, in), its output gathered: (T, r); B (out/tp, r)
//   row-parallel W      A (r, in/tp), its output summed:   (T, r); B (out/tp, r), its output
//   gathered
//                       and, under sequence parallel, cut to the rows of this rank
// so that no adapter is replicated and both products of an adapter are small on every rank.

#include <array>
#include <string>
#include <vector>

#include "plan/layer_sizes.h"
#include "plan/parallel_linear.h"

namespace windtunnel {

enum class AdaptedSide : std::uint8_t { column, row };  // how W is cut over tp

struct AdapterPlace {
  std::string name;  // "layers.3.qkv": what is adapted
  std::int16_t layer = -1;
  AdaptedSide side = AdaptedSide::column;
  Linear linear;                            // W, of this rank
  std::array<std::int64_t, 3> blocks = {};  // of W's output features, over all ranks
  std::vector<std::int64_t> parts;          // output features of each layer that W stands for
};

class LinearAdapter {
 public:
  LinearAdapter(RoleDraft& draft, ChunkParameters& parameters, AdapterPlace place);

  void declare_parameters();
  /// `x`: what W multiplied (T, in); `y`: what it made, as it is left. -> y with the adapter's.
  SlotId forward(SlotId x, SlotId y);
  /// `x` as in forward, `dy` the gradient of y. -> of x (T, in): whole for a row-parallel W, else
  /// this rank's summand. kNone where x needs none.
  enum class InputGrad : std::uint8_t { needed, not_needed };
  SlotId backward(SlotId x, SlotId dy, InputGrad input);

 private:
  Linear down() const;
  Linear up(std::size_t part) const;
  std::int64_t rank() const { return d_.plan().lora->rank; }
  bool cut() const { return d_.plan().tp > 1; }
  SlotId scaled(SlotId x, std::string_view name);
  SlotId gathered_columns(SlotId x, std::int64_t width, std::string_view name);
  SlotId own_columns(SlotId x, std::int64_t width, std::string_view name);
  SlotId low_part(SlotId low, std::size_t part);
  SlotId output_part(SlotId out, std::size_t part);
  SlotId joined(const OperandList& parts, std::int64_t width, std::string_view name);
  std::int64_t low_width() const { return static_cast<std::int64_t>(place_.parts.size()) * rank(); }
  SlotId multiplied_up();
  SlotId backward_up(SlotId dy);

  RoleDraft& d_;
  ChunkParameters& params_;
  LayerSizes z_;
  AdapterPlace place_;
  ParameterId down_ = 0;
  std::vector<ParameterId> up_;
  SlotId low_ = kNone;  // x A^T: (T, parts r)
};

}  // namespace windtunnel
