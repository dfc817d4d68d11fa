#pragma once
// A sound program written by hand: two stages, two replicas, two micro-batches, one linear layer
// per stage, sharded optimizer states, transfers on streams of their own.

#include "program/program.h"

namespace windtunnel {

Program two_stages();

}  // namespace windtunnel
