#include "report/bottleneck.h"

#include <array>

namespace windtunnel {

namespace {

using Class = BottleneckClass;

constexpr BottleneckCause kCauses[] = {
    {Class::compute, "matrix products", [](const Breakdown& b) { return b.gemm; },
     "larger matrix products (a bigger micro-batch, a smaller tp), a lower precision, or less "
     "recomputation"},
    {Class::compute, "attention", [](const Breakdown& b) { return b.attention; },
     "a newer attention kernel, or shorter sequences"},
    // What the breakdown leaves unnamed of its compute (device `unit` prices whole layers).
    {Class::compute, "other compute",
     [](const Breakdown& b) { return b.compute - b.gemm - b.attention - b.memory_bound; },
     "more devices, or faster ones"},
    {Class::memory, "memory-bound kernels", [](const Breakdown& b) { return b.memory_bound; },
     "fused kernels (compile, fused norms and optimizer), or sequence_parallel so that each rank "
     "moves fewer rows"},
    {Class::exposed_comm, "tp", [](const Breakdown& b) { return b.exposed_comm.tp; },
     "a smaller tp (more dp or pp instead), tp inside one NVLink domain, or overlap.tp"},
    {Class::exposed_comm, "pp", [](const Breakdown& b) { return b.exposed_comm.pp; },
     "overlap.pp, fewer virtual_stages, or sequence_parallel so that a transfer is split over tp"},
    {Class::exposed_comm, "dp", [](const Breakdown& b) { return b.exposed_comm.dp; },
     "sharding.overlap_grad_reduce and overlap_param_gather, more micro-batches per step, or grads "
     "of a lower precision"},
    {Class::exposed_comm, "cp", [](const Breakdown& b) { return b.exposed_comm.cp; },
     "a smaller cp, or overlap.cp"},
    {Class::exposed_comm, "ep", [](const Breakdown& b) { return b.exposed_comm.ep; },
     "a smaller ep, ep inside one NVLink domain, or overlap.ep"},
    {Class::host, "kernel launches", [](const Breakdown& b) { return b.host; },
     "cuda_graphs, fused kernels (compile), or a bigger micro-batch so that each launch does more"},
    {Class::host, "data loading", [](const Breakdown& b) { return b.input; },
     "more data workers, or a faster data set"},
    {Class::bubble, "pipeline bubble", [](const Breakdown& b) { return b.bubble; },
     "more micro-batches (a smaller micro-batch or a smaller dp), more virtual_stages, a smaller "
     "pp, or layers moved off the slowest stage"},
    {Class::bubble, "stragglers", [](const Breakdown& b) { return b.straggler; },
     "replace the slow device or link, or give it less work"},
};

constexpr std::array<const char*, static_cast<std::size_t>(Class::count)> kNames = {
    "compute", "memory", "exposed_comm", "host", "bubble"};

}  // namespace

std::span<const BottleneckCause> bottleneck_causes() {
  return kCauses;
}

const char* name_of(BottleneckClass cls) {
  return kNames.at(static_cast<std::size_t>(cls));
}

double seconds_of(const Breakdown& breakdown, BottleneckClass cls) {
  double seconds = 0.0;
  for (const BottleneckCause& cause : kCauses) {
    if (cause.cls == cls) seconds += cause.seconds(breakdown);
  }
  return seconds;
}

Bottleneck find_bottleneck(const Breakdown& breakdown) {
  std::array<double, static_cast<std::size_t>(Class::count)> seconds{};
  double total = 0.0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    seconds[i] = seconds_of(breakdown, static_cast<Class>(i));
    total += seconds[i];
  }
  std::size_t first = 0, second = 1;
  if (seconds[second] > seconds[first]) std::swap(first, second);
  for (std::size_t i = 2; i < seconds.size(); ++i) {
    if (seconds[i] > seconds[first]) {
      second = first;
      first = i;
    } else if (seconds[i] > seconds[second]) {
      second = i;
    }
  }
  Bottleneck found{.label = static_cast<Class>(first), .runner_up = static_cast<Class>(second)};
  if (total > 0.0) {
    found.label_share = seconds[first] / total;
    found.runner_up_share = seconds[second] / total;
  }
  const BottleneckCause* largest = nullptr;
  for (const BottleneckCause& cause : kCauses) {
    if (cause.cls != found.label) continue;
    if (!largest || cause.seconds(breakdown) > largest->seconds(breakdown)) largest = &cause;
  }
  found.cause = largest->name;
  found.lever = largest->lever;
  return found;
}

}  // namespace windtunnel
