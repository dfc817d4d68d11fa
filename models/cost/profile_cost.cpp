#include "models/cost/profile_cost.h"

#include <algorithm>

#include "core/check.h"
#include "models/cost/attention_cost.h"
#include "models/cost/calibrated_cost.h"
#include "models/cost/calibrated_transfer.h"
#include "models/cost/collective_cost.h"
#include "models/cost/gemm_cost.h"
#include "models/cost/host_cost.h"
#include "models/cost/memory_cost.h"

namespace windtunnel {

OpCost ProfileCostModel::cost(const Shape& shape) const {
  const KernelClass cls = row_of(shape.kernel).cls;
  const bool on_host = (shape.attr & kOnHost) != 0;
  if (!profile_.calibration && on_host) return host_kernel_cost(host_, shape);
  if (profile_.calibration && cls != KernelClass::host && cls != KernelClass::none) {
    return calibrated_cost(*profile_.calibration, shape);
  }
  switch (cls) {
    case KernelClass::gemm:
      return gemm_cost(profile_, shape);
    case KernelClass::attention:
      return attention_cost(profile_, shape);
    case KernelClass::memory:
      return memory_cost(profile_, shape);
    case KernelClass::link:
      return copy_cost(profile_, host_, shape);
    case KernelClass::host: {
      CHECK(shape.dims[0] >= 0 && shape.dims[0] < static_cast<std::int64_t>(HostItem::count),
            "a host_work shape names a host item");
      OpCost one = host(static_cast<HostItem>(shape.dims[0]));
      one.time = one.time * static_cast<double>(std::max<std::int64_t>(1, shape.dims[1]));
      return one;
    }
    case KernelClass::none:
      break;
  }
  return {};
}

OpCost ProfileCostModel::collective(const CollectiveQuery& query) const {
  return profile_.calibration ? calibrated_transfer_cost(profile_, query)
                              : collective_cost(profile_, query);
}

OpCost ProfileCostModel::host(HostItem item) const {
  const auto at = profile_.host.find(item);
  if (at == profile_.host.end()) {
    return {.cls = CostClass::host, .origin = {Basis::assumed, 0}};
  }
  return {.time = {at->second.value},
          .cls = CostClass::host,
          .sigma = at->second.sigma,
          .origin = {Basis::modelled, at->second.source}};
}

double ProfileCostModel::class_sigma(CostClass cls) const {
  const auto at = profile_.class_sigma.find(cls);
  return at == profile_.class_sigma.end() ? 0.0 : at->second.value;
}

std::string ProfileCostModel::source_text(std::uint16_t source) const {
  if (source == kHostStepSource) return host_source_text();
  return source < profile_.sources.size() ? profile_.sources[source].text : "";
}

}  // namespace windtunnel
