#pragma once
// The interpreter: all ranks of a program in one process, cooperatively.
//
// A rank executes its calls in host issue order until it needs something another rank has not
// produced. Collectives meet on the group of their communicator, n-th with n-th; messages match
// first-in first-out per (source, destination, communicator). What arrives on the compute stream is
// awaited at once, what arrives on another stream is awaited when its memory is touched, so
// asynchronous transfers posted early do not block. Fresh memory is poisoned, so reading what was
// never written is an error, and so is touching a slot outside its alloc and free.

#include "program/program.h"
#include "runtime/execution.h"

namespace windtunnel {

/// Runs the prologue and `options.steps` steps. Throws ExecutionError.
ExecutionRecord execute(const Program& program, const ExecutionOptions& options);

}  // namespace windtunnel
