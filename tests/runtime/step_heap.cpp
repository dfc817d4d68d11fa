// One rank of a check that a step's memory is the program's own: status 0 when no step takes a
// block of 64 KiB or more from the heap beside Device::allocate. Argument: a plan, one flow
// mapping.
//
// Counted is what the program's own objects take (tests/counted_heap.h), the MPI library's blocks
// are its own.

#include <cstring>
#include <iostream>

#include "kernels/device/cpu_device.h"
#include "kernels/mpi/mpi_communicator.h"
#include "plan/lower.h"
#include "plan/resolve.h"
#include "runtime/comm_groups.h"
#include "runtime/device_rank.h"
#include "scenarios/loader.h"
#include "tests/counted_heap.h"

namespace windtunnel {
namespace {

constexpr std::size_t kLargeBlock = std::size_t{64} << 10;
constexpr int kSteps = 3;

Program program_of(const std::string& plan, int ranks) {
  const std::string text =
      "model: {layers: 8, hidden: 256, ffn: 512, heads: 4, vocab: 512, dropout: true}\n"
      "cluster: {device: cpu, devices_per_node: " +
      std::to_string(ranks) +
      ", nodes: 1}\n"
      "batch: {global: 32, micro: 1, sequence: 128}\n"
      "plan: " +
      plan + "\n";
  return lower(resolve(load_scenarios_text(text, "plan").scenarios.front()));
}

/// What is wrong, or nothing.
std::string check_steps(const Program& program, const MpiWorld& world) {
  const std::unique_ptr<Communicator> communicator =
      make_mpi_communicator(world, groups_of(program, world.rank()));
  CpuDevice device({.streams = static_cast<int>(Stream::count),
                    .events = DeviceRank<float>::registers(program, world.rank()),
                    .capacity_bytes = std::int64_t{1} << 30});
  DeviceRank<float> rank(program, {.rank = world.rank()}, device, *communicator);
  rank.start();
  std::string wrong;  // all steps in any case: others wait for this rank
  for (int step = 0; step < kSteps; ++step) {
    world.barrier();
    test::forget_blocks();
    const RankStep result = rank.run_step(step, StepClock());
    const std::size_t largest = test::largest_block();
    if (result.records.size_bytes() < kLargeBlock) wrong += "the trace is too small to be seen\n";
    if (largest >= kLargeBlock) {
      wrong +=
          "step " + std::to_string(step) + " takes a block of " + std::to_string(largest) + "\n";
    }
  }
  return wrong;
}

/// The count must see what it is to refuse.
bool sees_a_large_block() {
  test::forget_blocks();
  const std::vector<char> block(kLargeBlock, 'x');
  return test::largest_block() >= block.size();
}

int check(const std::string& plan) {
  const MpiWorld world;
  std::string wrong = sees_a_large_block() ? "" : "blocks are not counted";
  if (wrong.empty()) wrong = check_steps(program_of(plan, world.size()), world);
  if (!wrong.empty()) std::cout << "rank " << world.rank() << ": " << wrong << "\n";
  return wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace windtunnel

int main(int argc, char** argv) {
  return argc == 2 ? windtunnel::check(argv[1]) : 2;
}
