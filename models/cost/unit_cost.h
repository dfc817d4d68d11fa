#pragma once
// Device `unit`: ops cost what the scenario says. Schedule studies and oracles run on it.
//
// Work is named, not shaped: a `host_work` shape carries the name in dims[0] and dims[1] (the
// caller's choice, say phase and stage) and costs what `work` says of that pair; every other shape
// costs `otherwise`. Transfers cost `hop`, collectives what their kind says, else `otherwise`,
// whatever their size. Nothing is uncertain.

#include <map>

#include "models/cost/cost_model.h"

namespace windtunnel {

struct UnitCostTable {
  std::map<std::array<std::int64_t, 2>, Seconds> work;
  std::map<CommKind, Seconds> collective;
  Seconds hop{};
  Seconds launch{};
  Seconds otherwise{};
};

class UnitCostModel final : public CostModel {
 public:
  explicit UnitCostModel(UnitCostTable table) : table_(std::move(table)) {}

  OpCost cost(const Shape& shape) const override;
  OpCost collective(const CollectiveQuery& query) const override;
  OpCost host(HostItem item) const override;
  double class_sigma(CostClass) const override { return 0.0; }
  std::string source_text(std::uint16_t) const override { return "the scenario's `unit` costs"; }

 private:
  UnitCostTable table_;
};

}  // namespace windtunnel
