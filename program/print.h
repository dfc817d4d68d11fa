#pragma once
// A program in readable form: what `plan` prints. Same program, same text.

#include <string>

#include "program/program.h"

namespace windtunnel {

/// Mesh and groups; what each stage holds; collectives and transfers per step and rank; the step x
/// rank grid of passes, at most `grid_columns` slots wide (program/schedule_grid.h). Stages that
/// communicate alike share their rows. Bytes of a collective are those of the full tensor.
/// Precondition: the program is sound (program/verify.h).
std::string print_program(const Program& program, int grid_columns = 120);

/// Every op of one rank, one a line, in host issue order: number in its segment, stream, phase,
/// kernel or transfer, sizes, operands as `name:type[elements]` (a view as
/// `name:type[n]@parent+first` at this rank's place), and what else it has: event, layer, launches,
/// condition, recompute. A segment is printed at its first call; later calls name it. Precondition:
/// 0 <= rank < program.mesh.ranks(); the program is sound.
std::string print_ops(const Program& program, int rank);

}  // namespace windtunnel
