#pragma once
// Proof of a plan on the real transport: its ranks, executed as processes, against one device.
//
// Field: every number equal. fp64: within kFp64Tolerance of the largest of its tensor. fp32: every
// tensor within fp32_bound of the fp64 one, in the Frobenius norm. Beside the numbers, what left
// through MPI and the peak of every device must be what the program says.

#include <string>
#include <vector>

#include "planning/measured/run_program.h"
#include "runtime/proof.h"

namespace windtunnel {

struct ProofLine {
  std::string what;  // "field", "fp64", "fp32", "bytes", "memory"
  std::string said;
  bool equal = false;
};

struct RunProof {
  std::vector<ProofLine> lines;

  bool equal() const;
};

/// Three runs of two steps each, and one device's steps by naive kernels, which bounds the model:
/// throws InputError when those would take more than kProvableFlops. Throws what `run_program`
/// throws.
constexpr double kProvableFlops = 1e9;  // of a step: half a minute in the field
RunProof verify_run(const RunRequest& request, const Lowered& lowered);

std::string text_of(const RunProof& proof);
std::string json_of(const RunProof& proof);

}  // namespace windtunnel
