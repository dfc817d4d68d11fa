#include "models/cost/unit_cost.h"

namespace windtunnel {

OpCost UnitCostModel::cost(const Shape& shape) const {
  if (shape.kernel == Kernel::host_work) {
    const auto at = table_.work.find({shape.dims[0], shape.dims[1]});
    if (at != table_.work.end()) return {.time = at->second};
  }
  return {.time = table_.otherwise};
}

OpCost UnitCostModel::collective(const CollectiveQuery& query) const {
  if (query.placement.ranks <= 1) return {};
  if (is_message(query.kind)) return {.time = table_.hop};
  const auto at = table_.collective.find(query.kind);
  return {.time = at == table_.collective.end() ? table_.otherwise : at->second};
}

OpCost UnitCostModel::host(HostItem item) const {
  return {.time = item == HostItem::kernel_launch ? table_.launch : Seconds{}};
}

}  // namespace windtunnel
