#pragma once
// The cost model of a real device: every op priced from its profile.
//
// Immutable after construction and safe to share between threads. Costs are not cached: a program
// has some dozens of distinct shapes and its caller keeps one cost per shape.

#include "models/cost/host_cost.h"
#include "models/cost/profile.h"

namespace windtunnel {

class ProfileCostModel final : public CostModel {
 public:
  /// `host` prices what plans offload; others have nothing to do there.
  explicit ProfileCostModel(Profile profile, const HostShare& host = {})
      : profile_(std::move(profile)), host_(host) {}

  OpCost cost(const Shape& shape) const override;
  OpCost collective(const CollectiveQuery& query) const override;
  OpCost host(HostItem item) const override;
  double class_sigma(CostClass cls) const override;
  std::string source_text(std::uint16_t source) const override;

  const Profile& profile() const { return profile_; }

 private:
  Profile profile_;
  HostShare host_;
};

}  // namespace windtunnel
