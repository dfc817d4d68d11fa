#include "models/cost/cost_model.h"

#include "core/check.h"

namespace windtunnel {

const char* name_of(CostClass cls) {
  static constexpr std::array kNames = {"exact",   "gemm", "attention",     "memory", "nvlink",
                                        "network", "host", "shared_memory", "link"};
  CHECK(cls < CostClass::count, "cost class out of range");
  return kNames[static_cast<std::size_t>(cls)];
}

const char* name_of(NetworkType type) {
  static constexpr std::array kNames = {"none", "ib", "roce", "efa", "tcp"};
  return kNames[static_cast<std::size_t>(type)];
}

CostClass cost_class_of(KernelClass cls) {
  if (cls == KernelClass::gemm) return CostClass::gemm;
  if (cls == KernelClass::link) return CostClass::link;
  return cls == KernelClass::attention ? CostClass::attention : CostClass::memory;
}

const char* name_of(Basis basis) {
  static constexpr std::array kNames = {"exact",    "measured",   "near",
                                        "modelled", "data_sheet", "assumed"};
  return kNames[static_cast<std::size_t>(basis)];
}

const char* name_of(CommKind kind) {
  static constexpr std::array kNames = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                        "broadcast",  "ring_shift", "send_recv"};
  return kNames[static_cast<std::size_t>(kind)];
}

CommKind comm_kind(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return CommKind::all_reduce;
    case Collective::all_gather:
      return CommKind::all_gather;
    case Collective::reduce_scatter:
      return CommKind::reduce_scatter;
    case Collective::all_to_all:
      return CommKind::all_to_all;
    case Collective::broadcast:
      return CommKind::broadcast;
    case Collective::ring_shift:
      return CommKind::ring_shift;
  }
  CHECK(false, "collective out of range");
  return CommKind::all_reduce;
}

const char* name_of(HostItem item) {
  static constexpr std::array kNames = {"kernel_launch", "eager_op",        "backward_node",
                                        "module_call",   "collective_call", "graph_launch",
                                        "graph_node",    "synchronize"};
  CHECK(item < HostItem::count, "host item out of range");
  return kNames[static_cast<std::size_t>(item)];
}

}  // namespace windtunnel
