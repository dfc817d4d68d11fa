#include "report/step_pairs.h"

#include <map>
#include <set>

namespace windtunnel {

StepPairs pair_steps(const StepFile& a, const StepFile& b) {
  const auto is_single = [](const StepFile& file) {
    return file.steps.size() == 1 && file.refused.empty();
  };
  if (is_single(a) && is_single(b)) return {.pairs = {{.a = 0, .b = 0}}};
  std::map<std::string, std::size_t> place_in_b;
  for (std::size_t i = 0; i < b.steps.size(); ++i) place_in_b.emplace(b.steps[i].id, i);
  StepPairs found;
  std::set<std::string> paired;
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    const std::string& id = a.steps[i].id;
    const auto partner = place_in_b.find(id);
    if (partner == place_in_b.end()) {
      found.only_in_a.push_back(id);
      continue;
    }
    found.pairs.push_back({.a = i, .b = partner->second});
    paired.insert(id);
  }
  for (const StepReport& step : b.steps) {
    if (!paired.contains(step.id)) found.only_in_b.push_back(step.id);
  }
  return found;
}

}  // namespace windtunnel
