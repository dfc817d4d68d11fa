#include "runtime/distributed/group_probe.h"

#include "core/counter_random.h"
#include "kernels/reference/number.h"

namespace windtunnel {

namespace {

constexpr std::uint64_t kProbe = 0x70726f6265;
constexpr int kNumbers = 3;  // field elements of 31 bits: together beyond any accident

/// What a rank adds: field elements that depend on it alone.
reference::Field number_of(int rank, int i) {
  return {counter_hash(kProbe, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(i)) %
          reference::kPrime};
}

}  // namespace

std::string probe_groups(Communicator& communicator, const std::vector<GroupMembers>& groups,
                         int rank) {
  std::string wrong;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].ranks.empty()) continue;
    std::array<reference::Field, kNumbers> got{}, expected{};
    for (int i = 0; i < kNumbers; ++i) {
      got[static_cast<std::size_t>(i)] = number_of(rank, i);
      for (const int member : groups[g].ranks) {
        expected[static_cast<std::size_t>(i)] += number_of(member, i);
      }
    }
    const Communicator::Ticket ticket =
        communicator.announce(static_cast<int>(g), {.kind = WireKind::all_reduce,
                                                    .reduction = Reduction::sum,
                                                    .type = WireType::field,
                                                    .elements = kNumbers,
                                                    .in = got.data(),
                                                    .out = got.data()});
    communicator.arrive(ticket);
    communicator.finish(ticket);
    if (got == expected || !wrong.empty()) continue;
    wrong = "communicator " + groups[g].name + " of rank " + std::to_string(rank) +
            " is not made of the ranks the plan says";
  }
  return wrong;
}

}  // namespace windtunnel
