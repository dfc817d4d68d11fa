#include "planning/memory_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "planning/category_rows.h"
#include "program/mesh.h"
#include "sim/memory/host_memory.h"
#include "sim/memory/verdict.h"

namespace windtunnel {

namespace {

/// Context of PyTorch 1.10 on an A100, every module loaded: 1.78 GiB, against 0.90 GiB from 1.13 on
/// (stas00/ml-engineering, training/performance).
constexpr std::int64_t kTorch110ContextBytes = 1'911'260'447;

/// CUDA 11.7 (mid 2022) and PyTorch 1.13 with it made lazy module loading available; it is
/// PyTorch's default from CUDA 12 (early 2023).
bool loads_modules_lazily(const Stack& stack) {
  return stack_since(stack, 2023, 1);
}
bool has_torch_113(const Stack& stack) {
  return stack_since(stack, 2022, 10);
}
/// NCCL 2.22 (June 2024) reached PyTorch with 2.5 (October 2024).
bool connects_lazily(const Stack& stack) {
  return stack_since(stack, 2024, 10);
}

/// What an executable graph holds for each of its kernels (NVIDIA/cccl pull request 3768).
constexpr std::int64_t kGraphKernelBytes = 10'000;

std::int64_t bytes_of(const Figure& f) {
  return static_cast<std::int64_t>(f.value);
}

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::startup:
      return "start-up";
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::weight_grad:
      return "the weight gradients";
    case Phase::grad_sync:
      return "gradient reduction";
    case Phase::optimizer:
      return "optimizer";
    case Phase::param_sync:
      return "parameter gather";
  }
  return "?";
}

std::string moment_text(const Program& program, const Moment& m) {
  std::string text = m.step < 0 ? std::string("start-up")
                                : fmt::format("{} of step {}", phase_name(m.phase), m.step + 1);
  if (m.micro_batch >= 0) text += fmt::format(", micro-batch {}", m.micro_batch);
  if (m.chunk >= 0) text += fmt::format(", chunk {}", m.chunk);
  if (m.op != kNone && program.ops[m.op].layer >= 0)
    text += fmt::format(", layer {}", program.ops[m.op].layer);
  return text;
}

StageMemory stage_of(const Program& program, const StageNeed& need) {
  StageMemory s{.stage = need.stage,
                .peak_allocated_bytes = need.peak_allocated,
                .peak_reserved_bytes = need.peak_reserved,
                .peak_device_bytes = need.peak_device,
                .by_category = category_rows(need.by_category)};
  const std::pair<const char*, std::int64_t> outside[] = {{"context", need.outside.context_bytes},
                                                          {"nccl", need.outside.nccl_bytes},
                                                          {"other", need.outside.other_bytes}};
  for (const auto& [name, bytes] : outside) {
    if (bytes > 0) s.by_category.emplace_back(name, bytes);
  }
  std::stable_sort(s.by_category.begin(), s.by_category.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  s.moment = moment_text(program, need.replay.peak_moment);
  for (const Contributor& c : need.replay.contributors) s.largest.emplace_back(c.name, c.bytes);
  s.startup_peak_bytes = need.replay.startup.allocated;
  s.first_step_peak_bytes = need.replay.first_step.allocated;
  s.host_bytes = peak_host_bytes(program, program.roles[static_cast<std::size_t>(need.stage)]);
  return s;
}

/// The fullest node: its ranks by their stage.
std::int64_t fullest_host(const Program& program, const Cluster& cluster,
                          const std::vector<StageMemory>& stages) {
  const auto offloads = [](const StageMemory& stage) { return stage.host_bytes > 0; };
  if (std::none_of(stages.begin(), stages.end(), offloads)) return 0;
  const Grid grid = dense_grid(program.mesh);
  std::int64_t most = 0;
  for (int node = 0; node < cluster.nodes; ++node) {
    std::int64_t sum = 0;
    for (int i = 0; i < cluster.devices_per_node; ++i) {
      const int rank = node * cluster.devices_per_node + i;
      if (rank >= program.mesh.ranks()) break;
      const int stage = coordinates_of(grid, rank).pp;
      sum += stages[static_cast<std::size_t>(stage)].host_bytes;
    }
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

DeviceMemory device_memory(const Profile& profile, const ResolvedScenario& resolved) {
  const MemoryFigures& m = profile.memory;
  const Stack& stack = resolved.scenario.stack;
  DeviceMemory d;
  if (profile.calibration) {
    // The ranks of a node share its memory, and have no driver, no NCCL and no cuBLAS.
    d.capacity_bytes = bytes_of(m.usable_bytes) / resolved.scenario.cluster.devices_per_node;
    d.context_bytes = bytes_of(m.context_bytes);
    return d;
  }
  d.capacity_bytes = bytes_of(m.usable_bytes);
  d.context_bytes = bytes_of(loads_modules_lazily(stack) ? m.context_bytes : m.context_eager_bytes);
  if (!has_torch_113(stack)) d.context_bytes = kTorch110ContextBytes;
  d.graph_kernel_bytes = kGraphKernelBytes;
  d.cublas_workspace_bytes = bytes_of(m.cublas_workspace);
  d.nccl.connection_bytes = bytes_of(m.nccl_channel_bytes);
  d.nccl.channels_in_domain = static_cast<int>(m.nccl_channels.value);
  d.nccl.channels_across = static_cast<int>(m.nccl_channels.value);
  d.nccl.ring_connections = 1;
  d.nccl.tree_connections = 2;
  d.nccl.peer_channels = 2;
  d.nccl.connects_at_init = !connects_lazily(stack);
  d.nccl.nvls_bytes = bytes_of(m.nccl_nvls_bytes);
  return d;
}

MemoryAnswer memory_answer(const Lowered& lowered, const Profile& profile) {
  const Scenario& s = lowered.resolved.scenario;
  const MemoryQuestion question{
      .device = device_memory(profile, lowered.resolved),
      .domain_ranks = std::max(1, s.cluster.nvlink_domain),
      .expandable_segments = s.allocator.expandable_segments,
      .sigma = lowered.resolved.rules.known ? kSigmaSourceKnown : kSigmaSourceUnknown,
      .threads = 2};
  const MemoryReport report = assess_memory(lowered.program, question);
  MemoryAnswer answer;
  answer.verdict = static_cast<Verdict>(report.verdict);
  answer.oom_probability = report.oom_probability;
  answer.capacity_bytes = report.capacity_bytes;
  answer.fullest_stage = report.fullest;
  for (const StageNeed& need : report.stages) {
    answer.stages.push_back(stage_of(lowered.program, need));
    if (need.replay.oom && answer.breaking.empty()) {
      const OutOfMemory& oom = *need.replay.oom;
      answer.breaking = fmt::format("stage {}: {} ({:.2f} GiB) in {}", need.stage, oom.tensor,
                                    static_cast<double>(oom.requested) / (1 << 30),
                                    moment_text(lowered.program, oom.moment));
    }
  }
  answer.host_node_bytes = fullest_host(lowered.program, s.cluster, answer.stages);
  if (answer.host_node_bytes > 0 && s.cluster.host.memory)
    answer.host_capacity_bytes = static_cast<std::int64_t>(s.cluster.host.memory->value);
  return answer;
}

}  // namespace windtunnel
