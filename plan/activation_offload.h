#pragma once
// What layers keep for their backward, in the host's memory between the passes (docs/offload.md).
//
// What a layer keeps, its input among it, is copied to the host when its forward ends, on a stream
// of its own; the compute stream waits for the copy at the end of the next layer, behind which
// their memory is free: two layers' tensors are on the device at most. In backward they come back
// into new memory: the copy of a layer is issued when the layer behind it is entered, and awaited
// at its own entry. These are the rules of Transformer Engine's double buffering
// (pytorch/cpu_offload.py, AsyncDoubleBufferGroupOffloadHandler).
//
// This is a pass over a chunk's drafted forward and backward, before their memory is placed: a
// drafted backward names the tensors forward made, and here those that came back.

#include <cstdint>
#include <map>
#include <vector>

#include "plan/role_draft.h"

namespace windtunnel {

/// Where a layer's ops end in forward and lie in backward: positions in the segments' ops.
struct LayerSpan {
  std::int16_t layer = -1;
  std::size_t forward_end = 0, backward_begin = 0, backward_end = 0;
};

class ActivationOffload {
 public:
  explicit ActivationOffload(RoleDraft& draft) : d_(draft) {}

  /// `layers`: the chunk's, in order of forward. The first of them, by the plan's fraction, are
  /// offloaded.
  void place(SegmentDraft& forward, SegmentDraft& backward, const std::vector<LayerSpan>& layers);

 private:
  /// A layer's tensors, copied together; masks and numbers apart.
  struct Group {
    OperandList device, host, back;
  };
  struct Layer {
    LayerSpan span;
    std::vector<Group> groups;
    std::uint32_t left = kNone, returned = kNone;  // events
  };
  /// A layer's copies, to the host or back.
  struct Way {
    Phase phase;
    Kernel kernel;
    Stream stream;
    const char* ready;  // event they wait for
    OperandList Group::*from;
    OperandList Group::*to;
    std::uint32_t Layer::*copied;
  };
  static const Way kOut, kBack;
  using Inserts = std::map<std::size_t, std::vector<DraftOp>>;  // before the op at a position

  void collect(const SegmentDraft& forward, const SegmentDraft& backward,
               const std::vector<LayerSpan>& layers);
  void add(Layer& layer, SlotId id);
  std::vector<DraftOp> copies(const Layer& layer, const Way& way);
  std::vector<DraftOp> awaited(const Layer& layer, const Way& way);
  void rename(SegmentDraft& backward);
  SlotId renamed(SlotId id);

  RoleDraft& d_;
  std::vector<Layer> layers_;          // that are offloaded
  std::map<SlotId, SlotId> returned_;  // what backward reads instead: roots and their views
};

}  // namespace windtunnel
