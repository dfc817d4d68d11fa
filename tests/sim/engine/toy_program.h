#pragma once
// Small programs built by hand for the engine's tests: ops with their costs, segments, calls.
//
// One time unit is a microsecond. `Toy` keeps program and costs together; segments are written op
// by op and called per role, chunk and micro-batch.

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"
#include "sim/engine/step_costs.h"

namespace windtunnel::toy {

constexpr Picoseconds kUnit = 1'000'000;
constexpr Picoseconds units(double value) {
  return static_cast<Picoseconds>(value * static_cast<double>(kUnit) + 0.5);
}

struct Toy {
  Program program;
  StepCosts costs;

  /// `mesh.pp` roles, pipeline ranks in order, each with `chunks` chunks.
  explicit Toy(const Mesh& mesh = {}, int chunks = 1);

  std::uint32_t comm(const std::string& name, std::uint8_t axes);
  std::uint32_t event(int role, bool per_frame);
  std::uint32_t segment(const std::string& name);
  void call(int role, std::uint32_t segment, int chunk = 0, int micro_batch = 0);

  // Each adds an op to the latest segment.
  Op& add(const Op& op, Picoseconds cost = 0);
  Op& compute(Picoseconds cost, Kernel kernel = Kernel::gemm_fwd);
  Op& collective(std::uint32_t comm, Picoseconds cost, Stream stream = Stream::compute);
  Op& send(int peer, std::uint32_t comm, Picoseconds cost, Stream stream);
  Op& recv(int peer, std::uint32_t comm, Stream stream);
  void record(std::uint32_t event, Stream stream);
  void wait(std::uint32_t event, Stream stream);
  void host_work(Picoseconds cost, Module module = Module::none);

  std::uint32_t shape(Kernel kernel);
};

}  // namespace windtunnel::toy
