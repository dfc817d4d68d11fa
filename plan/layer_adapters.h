#pragma once
// Which linear layers of a transformer layer have an adapter, and backward through both.

#include <memory>

#include "plan/linear_adapter.h"

namespace windtunnel {

/// Null where a layer has none.
struct LayerAdapters {
  std::unique_ptr<LinearAdapter> qkv, o, fc1, fc2;
};

/// The frozen layers that may be adapted.
struct AdaptedLinears {
  Linear qkv, o, fc1, fc2;
};
/// Declares their parameters. Precondition: the plan trains adapters.
LayerAdapters make_adapters(RoleDraft& d, ChunkParameters& p, int layer,
                            const AdaptedLinears& linears);

/// Backward of a layer with or without an adapter, in place of column_backward and row_backward.
struct AdaptedColumn {
  LinearAdapter* adapter = nullptr;
  ColumnBackward frozen;
  bool input_needs_grad = true;
};
/// kNone where the input needs no gradient.
SlotId adapted_column_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z,
                               const Linear& linear, const AdaptedColumn& in);
struct AdaptedRow {
  LinearAdapter* adapter = nullptr;
  RowBackward frozen;
};
SlotId adapted_row_backward(RoleDraft& d, ChunkParameters& p, const LayerSizes& z,
                            const Linear& linear, const AdaptedRow& in);

}  // namespace windtunnel
