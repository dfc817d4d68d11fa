#include "planning/breakdown_rows.h"

#include <array>

#include "core/check.h"
#include "program/mesh.h"

namespace windtunnel {

namespace {

constexpr std::array<const char*, 14> kModuleNames{
    "other",    "embedding", "norm", "attention", "core_attention", "mlp",      "activation",
    "residual", "head",      "loss", "optimizer", "data",           "pipeline", "offload"};

}  // namespace

void BreakdownRows::add(const TimeCategory& row, double seconds) {
  switch (row.kind) {
    case TimeKind::compute:
      return add_compute(row, seconds);
    case TimeKind::exposed_comm:
      exposed(row.comm) += seconds;
      break;
    case TimeKind::straggler:
      sum_.straggler += seconds;
      break;
    case TimeKind::bubble:
      sum_.bubble += seconds;
      break;
    case TimeKind::host:
      sum_.host += seconds;
      break;
    case TimeKind::input:
      sum_.input += seconds;
      break;
  }
}

void BreakdownRows::add_compute(const TimeCategory& row, double seconds) {
  sum_.compute += seconds;
  if (row.recompute) sum_.recompute += seconds;
  switch (row.cls) {
    case KernelClass::gemm:
      sum_.gemm += seconds;
      break;
    case KernelClass::attention:
      sum_.attention += seconds;
      break;
    default:
      sum_.memory_bound += seconds;
      break;
  }
  modules_[kModuleNames[static_cast<std::size_t>(row.module)]] += seconds;
}

/// Which group of the report a communicator belongs to.
double& BreakdownRows::exposed(std::uint32_t comm) {
  CHECK(comm < program_.comms.size(), "exposed communication names its communicator");
  ExposedComm& e = sum_.exposed_comm;
  const std::uint8_t axes = program_.comms[comm].axes;
  // Expert groups lie across the axes of the dense layers: their communicator is known by its name.
  if (program_.comms[comm].name == "ep") return e.ep;
  if (axes == kAxisTp) return e.tp;
  if (axes == kAxisCp) return e.cp;
  if (axes == kAxisEp) return e.ep;
  // The gradient norm spans the model; where there are replicas its barrier waits for theirs.
  if ((axes & kAxisPp) != 0 && replica_ranks(program_.mesh) == 1)
    return program_.mesh.pp > 1 ? e.pp : e.tp;
  return axes == kAxisPp ? e.pp : e.dp;
}

Breakdown BreakdownRows::take() {
  Breakdown b = std::move(sum_);
  b.compute_by_module.assign(modules_.begin(), modules_.end());
  sum_ = {};
  modules_.clear();
  return b;
}

}  // namespace windtunnel
