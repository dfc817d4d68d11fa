#include "plan/frameworks/framework.h"

namespace windtunnel {

// No framework stated: the textbook plan. Nothing is padded, nothing overlaps unless the plan says
// so, gradients accumulate in the buffer the precision names.
FrameworkRules generic_rules(const Scenario&) {
  FrameworkRules r;
  r.name = "generic";
  r.graphs = GraphScope::iteration;
  r.tp_overlap = TpOverlap::userbuffers;
  r.offload = {.optimizer = true,
               .gradients_in_backward = true,
               .params = true,
               .activations = ActivationsOffload::any};
  r.time_sigma = 0.10;
  return r;
}

}  // namespace windtunnel
