#pragma once
// The program's enumerations in words: one spelling for violations, printed programs and reports.

#include "program/program.h"

namespace windtunnel {

const char* name_of(OpKind kind);
const char* name_of(Collective collective);
const char* name_of(ReduceOp op);
const char* name_of(Stream stream);
const char* name_of(Phase phase);
const char* name_of(Module module);
const char* name_of(Category category);
const char* name_of(Space space);
const char* name_of(When when);

/// "gemm_fwd 2048 x 6144 x 12288": the kernel and its dims.
std::string text_of(const Shape& shape);

/// "tp x pp", "dp": the axes of a communicator, innermost of the usual order first.
std::string axes_text(std::uint8_t axes);

}  // namespace windtunnel
