#include "sim/engine/stretch_costs.h"

#include <algorithm>

namespace windtunnel {

StretchCosts::StretchCosts(const RoleCode& code, const LaneCosts& costs,
                           const StepCosts& step_costs)
    : costs_(costs),
      draws_(static_cast<std::size_t>(step_costs.draws)),
      values_(2 * std::size_t{code.stretches} * draws_, 0),
      runs_(code.stretches, 0),
      first_(code.stretches, nullptr),
      last_compute_(code.stretches, nullptr) {
  for (const Code& called : code.code) {
    for (const Instruction& first : called.ops) {
      if (first.stretch_ops == 0) continue;
      first_[first.stretch] = &first;
      Picoseconds* busy = values_.data() + 2 * std::size_t{first.stretch} * draws_;
      Picoseconds* reach = busy + draws_;
      std::int64_t launches = first.stretch_launches;
      // From the last op to the first: `busy` is what is left to run from op i on.
      for (std::size_t k = first.stretch_ops; k-- > 0;) {
        const Instruction* i = &first + k;
        const Instruction*& last = last_compute_[first.stretch];
        if (last == nullptr && i->action == Action::compute) last = i;
        const Picoseconds* price = costs.stream_price(*i);
        for (std::size_t draw = 0; draw < draws_; ++draw) {
          busy[draw] += price[draw];
          reach[draw] = std::max(reach[draw], launches * step_costs.launch[draw] + busy[draw]);
        }
        launches -= i->launches;
      }
    }
  }
}

void StretchCosts::charge_to(TimeTable& table) const {
  for (std::size_t stretch = 0; stretch < runs_.size(); ++stretch) {
    if (runs_[stretch] == 0) continue;
    const Instruction* first = first_[stretch];
    for (const Instruction* i = first; i != first + first->stretch_ops; ++i) {
      const Picoseconds* price = costs_.stream_price(*i);
      Picoseconds* row = table.row(i->category);
      for (std::size_t draw = 0; draw < draws_; ++draw) row[draw] += runs_[stretch] * price[draw];
    }
  }
}

}  // namespace windtunnel
