#pragma once
// What an execution of a program is asked for and what it gives back.
//
// The interpreter runs every rank of a program in one process with the reference kernels, in one of
// two number modes, and records what a proof compares: losses, gradients as the optimizer sees
// them, weights as used and as updated, the clip norm; and what a simulation must agree with: bytes
// and counts of every communicator, and peak allocated bytes. Values are given as doubles in both
// modes (a field element is below 2^31, so this is exact).

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "program/program.h"

namespace windtunnel {

/// `field`: integers modulo 2^31 - 1, every order of summation gives the same value. `fp32`: what
/// devices train in; the interpreter does not.
enum class NumberMode : std::uint8_t { field, fp64, fp32 };

/// Adds `delta` to one element of a tensor's initial value (finite differences).
struct Perturbation {
  std::string tensor;      // as `tensor_name` gives it
  std::int64_t index = 0;  // row * cols + column of the global tensor
  double delta = 0.0;
};

struct ExecutionOptions {
  NumberMode mode = NumberMode::field;
  int steps = 2;
  std::uint64_t seed = 1;
  std::int64_t allocation_granularity = 1;  // bytes each allocation is rounded up to, in counters
  std::optional<Perturbation> perturbation;
};

/// A program that cannot be executed: it reads memory it does not hold or did not write, its
/// collectives or messages do not match, or no rank can go on. The text names rank, call and op.
struct ExecutionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Elements of one parameter's tensor that a rank holds, with their place in the global tensor.
struct TensorPiece {
  std::uint32_t param = kNone;  // into Program::params
  int rank = 0;
  std::vector<std::int64_t> index;  // row * cols + column; from rows * cols on: padding
  std::vector<double> values;
};

struct MicroBatchLoss {
  int rank = 0, dp_rank = 0, micro_batch = 0;
  double loss = 0.0;  // what ce_loss added
};

struct RankNorm {
  int rank = 0;
  double norm2 = 0.0;  // what clip_coefficient read
};

struct StepRecord {
  std::vector<MicroBatchLoss> losses;
  std::vector<RankNorm> norms;
  std::vector<TensorPiece> used;       // weights when first read in the step
  std::vector<TensorPiece> gradients;  // as the optimizer reads them
  std::vector<TensorPiece> updated;    // weights as the optimizer leaves them
};

/// Traffic of one kind on one communicator: comm, op kind, collective (all_reduce for messages).
using TrafficKey = std::tuple<std::uint32_t, OpKind, Collective>;

struct Traffic {
  std::int64_t count = 0;
  std::int64_t bytes = 0;  // of the full (gathered) tensor, NCCL-tests' size convention
};

struct RankCounters {
  std::map<TrafficKey, Traffic> traffic;  // sends, receives and collectives this rank issued
  std::int64_t allocated_bytes = 0, peak_bytes = 0;  // of the device
  std::int64_t host_bytes = 0, peak_host_bytes = 0;  // of the host's memory, not rounded
  std::array<std::int64_t, static_cast<std::size_t>(Category::count)> allocated{}, peak{};
};

struct ExecutionRecord {
  std::vector<StepRecord> steps;
  std::vector<RankCounters> ranks;
};

}  // namespace windtunnel
