// Ranks that are threads: every kind of transfer gives its closed form; disagreement and failure
// wake everyone.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "kernels/inprocess/inprocess_communicator.h"
#include "tests/kernels/transfer_kinds.h"

namespace windtunnel {
namespace {

/// `body` on a thread per rank of a world whose only group is all ranks.
void on_all_ranks(InProcessWorld& world, int ranks,
                  const std::function<void(Communicator&, int)>& body) {
  std::vector<int> all;
  for (int r = 0; r < ranks; ++r) all.push_back(r);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      const std::unique_ptr<Communicator> mine = world.join(r, {{.name = "all", .ranks = all}});
      body(*mine, r);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TransferPart sum_of(std::vector<float>& data) {
  return {.kind = WireKind::all_reduce,
          .reduction = Reduction::sum,
          .type = WireType::fp32,
          .elements = static_cast<std::int64_t>(data.size()),
          .in = data.data(),
          .out = data.data()};
}

/// What `part` fails with; empty when it does not.
std::string failure_of(Communicator& communicator, const TransferPart& part) {
  const Communicator::Ticket ticket = communicator.announce(0, part);
  communicator.arrive(ticket);
  try {
    communicator.finish(ticket);
  } catch (const TransferError& error) {
    return error.what();
  }
  return "";
}

TEST(InProcess, EveryKindAsInClosedForm) {
  for (const int ranks : {1, 2, 3, 5}) {
    InProcessWorld world;
    on_all_ranks(world, ranks, [&](Communicator& mine, int rank) {
      EXPECT_EQ(check_kinds<float>(mine, rank, ranks), "");
      EXPECT_EQ(check_kinds<double>(mine, rank, ranks), "");
      EXPECT_EQ(check_kinds<reference::Field>(mine, rank, ranks), "");
    });
  }
}

TEST(InProcess, GroupsOfOneCommunicatorDoNotMix) {
  InProcessWorld world;
  std::vector<std::thread> threads;
  for (int r = 0; r < 4; ++r) {
    threads.emplace_back([&world, r] {
      const int first = r / 2 * 2;
      const std::unique_ptr<Communicator> mine =
          world.join(r, {{.name = "pair", .ranks = {first, first + 1}}});
      std::vector<float> data{static_cast<float>(r)};
      EXPECT_EQ(failure_of(*mine, sum_of(data)), "");
      EXPECT_EQ(data[0], static_cast<float>(2 * first + 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(InProcess, DisagreementIsAnErrorOnEveryMember) {
  for (const bool size : {true, false}) {
    InProcessWorld world;
    on_all_ranks(world, 3, [&](Communicator& mine, int rank) {
      std::vector<float> data(rank == 1 && size ? 4 : 2);
      TransferPart part = sum_of(data);
      if (rank == 1 && !size) part.reduction = Reduction::max;
      EXPECT_EQ(failure_of(mine, part), "members of a transfer disagree on its kind, size or type");
    });
  }
}

TEST(InProcess, AFailureWakesAllThatWait) {
  InProcessWorld world;
  on_all_ranks(world, 4, [&](Communicator& mine, int rank) {
    std::vector<float> data(1);
    if (rank == 3) {
      world.fail("rank 3 is gone");
    } else {
      EXPECT_EQ(failure_of(mine, sum_of(data)), "rank 3 is gone");
    }
  });
}

TEST(InProcess, TheFirstFailureIsTold) {
  InProcessWorld world;
  world.fail("first");
  world.fail("second");
  on_all_ranks(world, 2, [&](Communicator& mine, int) {
    std::vector<float> data(1);
    EXPECT_EQ(failure_of(mine, sum_of(data)), "first");
  });
}

}  // namespace
}  // namespace windtunnel
