#include "planning/breakdown.h"

#include <array>
#include <map>

#include "core/check.h"
#include "report/breakdown_terms.h"

namespace windtunnel {

namespace {

constexpr std::array<const char*, 13> kModuleNames{
    "other",    "embedding", "norm", "attention", "core_attention", "mlp",     "activation",
    "residual", "head",      "loss", "optimizer", "data",           "pipeline"};

void add_compute(Breakdown& b, const TimeCategory& c, double seconds,
                 std::map<std::string, double>& modules) {
  b.compute += seconds;
  if (c.recompute) b.recompute += seconds;
  switch (c.cls) {
    case KernelClass::gemm:
      b.gemm += seconds;
      break;
    case KernelClass::attention:
      b.attention += seconds;
      break;
    default:
      b.memory_bound += seconds;
      break;
  }
  modules[kModuleNames[static_cast<std::size_t>(c.module)]] += seconds;
}

/// Which group of the report a communicator belongs to.
double& exposed(ExposedComm& e, const Program& program, std::uint32_t comm) {
  CHECK(comm < program.comms.size(), "exposed communication names its communicator");
  const std::uint8_t axes = program.comms[comm].axes;
  if (axes == kAxisTp) return e.tp;
  if (axes == kAxisCp) return e.cp;
  if (axes == kAxisEp) return e.ep;
  // The gradient norm spans the model; where there are replicas its barrier waits for theirs.
  if ((axes & kAxisPp) != 0 && program.mesh.dp == 1) return program.mesh.pp > 1 ? e.pp : e.tp;
  return axes == kAxisPp ? e.pp : e.dp;
}

}  // namespace

std::vector<Breakdown> stage_breakdowns(const Program& program, const StepTiming& timing) {
  std::vector<Breakdown> stages;
  for (std::size_t r = 0; r < timing.roles.size(); ++r) {
    Breakdown b;
    std::map<std::string, double> modules;
    for (std::size_t c = 0; c < timing.categories.size(); ++c) {
      const TimeCategory& category = timing.categories[c];
      const double seconds = from_picoseconds(timing.time(static_cast<int>(r), c, 0)).value;
      switch (category.kind) {
        case TimeKind::compute:
          add_compute(b, category, seconds, modules);
          break;
        case TimeKind::exposed_comm:
          exposed(b.exposed_comm, program, category.comm) += seconds;
          break;
        case TimeKind::straggler:
          b.straggler += seconds;
          break;
        case TimeKind::bubble:
          b.bubble += seconds;
          break;
        case TimeKind::host:
          b.host += seconds;
          break;
        case TimeKind::input:
          b.input += seconds;
          break;
      }
    }
    b.compute_by_module.assign(modules.begin(), modules.end());
    stages.push_back(std::move(b));
  }
  return stages;
}

Breakdown mean_breakdown(const std::vector<Breakdown>& stages) {
  CHECK(!stages.empty(), "a program has roles");
  Breakdown mean;
  std::map<std::string, double> modules;
  for (const Breakdown& b : stages) {
    for (const BreakdownTerm& term : breakdown_terms()) value_of(term, mean) += value_of(term, b);
    for (const auto& [name, seconds] : b.compute_by_module) modules[name] += seconds;
  }
  const double n = static_cast<double>(stages.size());
  for (const BreakdownTerm& term : breakdown_terms()) value_of(term, mean) /= n;
  for (const auto& [name, seconds] : modules)
    mean.compute_by_module.emplace_back(name, seconds / n);
  return mean;
}

}  // namespace windtunnel
