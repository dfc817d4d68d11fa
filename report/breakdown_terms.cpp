#include "report/breakdown_terms.h"

namespace windtunnel {

namespace {

constexpr BreakdownTerm kTerms[] = {
    {"", "compute", "compute", "compute", false, &Breakdown::compute, nullptr},
    {"compute_by_kind", "gemm", "matrix products", "matrix products", true, &Breakdown::gemm,
     nullptr},
    {"compute_by_kind", "attention", "attention", "attention", true, &Breakdown::attention,
     nullptr},
    {"compute_by_kind", "memory_bound", "memory-bound", "memory-bound kernels", true,
     &Breakdown::memory_bound, nullptr},
    {"", "recompute", "(recomputation)", "recomputation", true, &Breakdown::recompute, nullptr},
    {"exposed_comm", "tp", "exposed_comm tp", "exposed tp communication", false, nullptr,
     &ExposedComm::tp},
    {"exposed_comm", "pp", "exposed_comm pp", "exposed pp communication", false, nullptr,
     &ExposedComm::pp},
    {"exposed_comm", "dp", "exposed_comm dp", "exposed dp communication", false, nullptr,
     &ExposedComm::dp},
    {"exposed_comm", "cp", "exposed_comm cp", "exposed cp communication", false, nullptr,
     &ExposedComm::cp},
    {"exposed_comm", "ep", "exposed_comm ep", "exposed ep communication", false, nullptr,
     &ExposedComm::ep},
    {"", "bubble", "bubble", "the pipeline bubble", false, &Breakdown::bubble, nullptr},
    {"", "straggler", "straggler", "waiting for stragglers", false, &Breakdown::straggler, nullptr},
    {"", "host", "host", "waiting for the host", false, &Breakdown::host, nullptr},
    {"", "input", "input", "waiting for input", false, &Breakdown::input, nullptr},
};

}  // namespace

std::span<const BreakdownTerm> breakdown_terms() {
  return kTerms;
}

double value_of(const BreakdownTerm& term, const Breakdown& breakdown) {
  return term.axis ? breakdown.exposed_comm.*term.axis : breakdown.*term.field;
}

double& value_of(const BreakdownTerm& term, Breakdown& breakdown) {
  return term.axis ? breakdown.exposed_comm.*term.axis : breakdown.*term.field;
}

}  // namespace windtunnel
