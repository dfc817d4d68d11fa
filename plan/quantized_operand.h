#pragma once
// Operands of products in 8 and 4 bits: what is made of a wide tensor, and what making it costs.
//
// A product reads its operands in the narrow type with their scales. Under *delayed* scaling the
// scale comes from the largest magnitudes (amaxes) of earlier passes: one kernel rounds and leaves
// the amax of this pass, and the amaxes of a pass are reduced together at its end. Under
// *tensorwise* (current) scaling the tensor is read once for its amax and once to be rounded.
// *blockwise*, *mxfp8* and *nvfp4* scale blocks of the inner dimension, and store a scale for each;
// nvfp4 scales the tensor besides, so it reads it for its amax first.
//
// The two products of backward read operands across the dimension that forward reads them along.
// Where the chip multiplies only along the inner dimension, or blocks lie along it, that is a
// second copy in the other layout (`columns`); else both layouts are one tensor. docs/precision.md
// has the sources.

#include "plan/layer_sizes.h"

namespace windtunnel {

struct QuantizedOperand {
  SlotId rows = kNone;     // along the inner dimension of forward (input, weight) and of the input
                           // gradient (output gradient)
  SlotId columns = kNone;  // of the other product it is in; `rows` when one layout does for both
  SlotId row_scales = kNone, column_scales = kNone;  // of blocks
  SlotId amax = kNone;                               // (groups), tensorwise and nvfp4
};

enum class OperandRole : std::uint8_t { input, weight, gradient };
enum class Layouts : std::uint8_t { both, rows, columns };
/// What made the tensor: kernels of these kinds can go on with what quantising begins with.
enum class MadeBy : std::uint8_t { other, norm, elementwise };

struct QuantizeRequest {
  SlotId source = kNone;
  OperandRole role = OperandRole::input;
  std::int64_t groups = 1;  // experts side by side, each with scales of its own
  Layouts layouts = Layouts::both;
  MadeBy made_by = MadeBy::other;
  bool row_shard = false;     // rows of one tp rank: a scale of the tensor is a maximum over tp
  SlotId known_amax = kNone;  // tensorwise and nvfp4: not measured again
  SlotId into = kNone;        // where the first layout is written; else a tensor of its own
  bool kept = false;          // static, made by the first micro-batch of a step
  Module module = Module::mlp;
};
QuantizedOperand quantize(RoleDraft& d, const QuantizeRequest& request);

/// Whether a norm's kernel writes its output quantised, and does not write it wide.
bool norm_quantizes(const RoleDraft& d);

/// A copy of `rows` in the other layout, where the chip needs one.
SlotId other_layout(RoleDraft& d, SlotId rows, Module module);
/// Whether the other layout can be made of quantised numbers: the scale is the tensor's.
bool scales_whole_tensors(const RoleDraft& d);
/// Whether the other layout is a copy of its own.
bool copies_layouts(const RoleDraft& d);

/// The layout a sequence-parallel input is kept and gathered in for the weight gradient.
SlotId gathered_for_backward(const RoleDraft& d, const QuantizedOperand& shard);

/// What the rows of each expert are a multiple of where its products are narrow.
std::int64_t aligned_rows(const RoleDraft& d);

/// Delayed scaling: amaxes of one pass through a chunk of `layers`, until `reduce_amaxes`.
void begin_amaxes(RoleDraft& d, std::string_view name, std::size_t layers);
void reduce_amaxes(RoleDraft& d);

}  // namespace windtunnel
