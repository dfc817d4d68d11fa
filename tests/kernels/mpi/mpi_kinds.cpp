// One rank of a check of the MPI communicator: status 0 when every kind of transfer gives its
// closed form.

#include <iostream>

#include "kernels/mpi/mpi_communicator.h"
#include "kernels/mpi/mpi_counts.h"
#include "tests/kernels/transfer_kinds.h"

namespace windtunnel {
namespace {

/// An all_reduce of 5 floats is counted as one call of 20 bytes on the group of its name.
std::string check_counts(Communicator& communicator) {
  take_wire_counts();
  std::vector<float> data(5, 1.0F);
  const Communicator::Ticket ticket = communicator.announce(0, {.kind = WireKind::all_reduce,
                                                                .reduction = Reduction::sum,
                                                                .type = WireType::fp32,
                                                                .elements = 5,
                                                                .in = data.data(),
                                                                .out = data.data()});
  communicator.arrive(ticket);
  communicator.finish(ticket);
  const std::vector<WireCount> counts = take_wire_counts();
  const bool right = counts.size() == 1 && counts[0].communicator == "all" &&
                     counts[0].calls[0] == 1 && counts[0].bytes[0] == 20;
  return right && take_wire_counts().empty() ? "" : "an all_reduce is counted wrong\n";
}

int check_world() {
  const MpiWorld world;
  std::string wrong;
  {
    std::vector<int> all;
    for (int r = 0; r < world.size(); ++r) all.push_back(r);
    const std::unique_ptr<Communicator> communicator =
        make_mpi_communicator(world, {{.name = "all", .ranks = all}});
    wrong += check_kinds<float>(*communicator, world.rank(), world.size());
    wrong += check_kinds<double>(*communicator, world.rank(), world.size());
    wrong += check_kinds<reference::Field>(*communicator, world.rank(), world.size());
    wrong += check_counts(*communicator);
  }
  const std::vector<std::string> gathered = world.gather(std::string(world.rank() + 1U, 'x'));
  for (std::size_t r = 0; r < gathered.size(); ++r) {
    if (gathered[r] != std::string(r + 1, 'x')) wrong += "gathered bytes differ\n";
  }
  if (world.broadcast(world.rank() == 0 ? "zero" : "mine") != "zero") wrong += "broadcast\n";
  std::cout << wrong;
  return wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace windtunnel

int main() {
  return windtunnel::check_world();
}
