#include "scenarios/rules/rules.h"

namespace windtunnel {

std::vector<Diagnostic> check_rules(const Scenario& scenario) {
  std::vector<Diagnostic> all = check_cluster(scenario);
  for (const auto& check : {check_degrees, check_magnitudes, check_division, check_schedule}) {
    // A product that does not fit makes every later division meaningless.
    if (!all.empty()) return all;
    all = check(scenario);
  }
  return all;
}

}  // namespace windtunnel
