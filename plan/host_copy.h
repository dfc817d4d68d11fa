#pragma once
// Copies between a device and its host's memory.

#include "plan/role_draft.h"

namespace windtunnel {

/// Copies each of `from` into its twin in `to`: `spec.kernel` is to_host or to_device.
inline void copy_across(RoleDraft& d, KernelSpec spec, const OperandList& from,
                        const OperandList& to) {
  for (const SlotId id : from) spec.dims[0] += d.slot(id).elements;
  spec.module = Module::offload;
  d.kernel(spec, from, to);
}

}  // namespace windtunnel
