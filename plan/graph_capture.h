#pragma once
// CUDA graphs: which ops of a program the host replays instead of launching them one by one.
//
// Layer scope: of each layer and micro-batch one graph for forward and one for backward: its
// kernels and tensor-parallel collectives. What reduces or gathers weights, what goes between
// stages, embedding and head are launched as ever. Iteration scope: all forwards and backwards of a
// step with everything in them, up to the optimizer, are one graph.
//
// A captured op costs the host nothing. A graph costs one `graph_launch`, host work in front of its
// first op. Host work of captured parts is gone, for no framework code runs; iteration scope has no
// host synchronizations inside either, for a capture cannot hold one. Tensors taken inside a graph
// come from a pool of their own. docs/host_effects.md has the sources.

#include "plan/frameworks/framework.h"
#include "plan/program_writer.h"

namespace windtunnel {

/// Marks what is captured in the writer's program, whose roles are complete. O(ops).
void capture_graphs(ProgramWriter& writer, GraphScope scope);

}  // namespace windtunnel
