// Are measurements taken, of what was asked, as often as asked? How long things take is not tested.

#include <gtest/gtest.h>

#include <thread>

#include "calibrate/measure/anchor.h"
#include "calibrate/measure/kernel_timing.h"
#include "calibrate/measure/launch_timing.h"
#include "calibrate/measure/overlap_timing.h"
#include "calibrate/measure/storage_timing.h"
#include "calibrate/measure/transfer_timing.h"
#include "core/diagnostics.h"
#include "kernels/device/cpu_device.h"
#include "kernels/inprocess/inprocess_communicator.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

KernelTask small_product() {
  return {.shape = {.kernel = Kernel::gemm_fwd,
                    .in = Dtype::fp32,
                    .out = Dtype::fp32,
                    .dims = {8, 8, 8}},
          .job = {}};
}

TEST(KernelTiming, TimesAtLeastAndAtMostAsOftenAsAsked) {
  CpuDevice device({.streams = 1});
  const auto timings = [&](TimingBudget budget) {
    const KernelTiming t = measure_kernel<double>(small_product(), {.budget = budget}, device);
    EXPECT_GT(t.summary.median, 0.0);
    EXPECT_GE(t.runs, t.summary.kept + t.summary.dropped);
    return t.summary.kept + t.summary.dropped;
  };
  EXPECT_EQ(timings({.seconds = 1e9, .least = 3, .most = 5}), 5);
  // A budget that is used up at once: the first run alone was too long.
  EXPECT_EQ(timings({.seconds = 0.0, .least = 3, .most = 5}), 1);
  EXPECT_EQ(device.memory().allocated, 0);
}

TEST(LaunchTiming, BothAreTimes) {
  CpuDevice device({.streams = 1});
  const LaunchTiming timing = measure_launch(device);
  EXPECT_GT(timing.launch.median, 0.0);
  EXPECT_GT(timing.synchronize.median, 0.0);
}

TEST(Anchor, RatesAreRates) {
  Anchor anchor;
  const AnchorRates rates = anchor.measure();
  EXPECT_GT(rates.flops_per_s, 0.0);
  EXPECT_GT(rates.bytes_per_s, 0.0);
}

TEST(StorageTiming, LeavesNothingBehind) {
  const std::filesystem::path folder = make_temp_folder();
  const StorageTiming timing = measure_storage(folder, {.bytes = 5 << 20, .repeats = 2});
  EXPECT_GT(timing.write.median, 0.0);
  EXPECT_GT(timing.read.median, 0.0);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
  EXPECT_THROW(measure_storage(folder, {}), InputError);
}

/// Runs `body(rank, communicator)` on two ranks of one process.
template <class Body>
void on_two_ranks(Body body) {
  InProcessWorld world;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const auto communicator = world.join(rank, {{.name = "pair", .ranks = {0, 1}}});
      body(rank, *communicator);
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(TransferTiming, EveryKindIsTimedOnEveryRank) {
  std::array<std::array<std::vector<TransferStamps>, 2>, 6> stamps;
  on_two_ranks([&](int rank, Communicator& communicator) {
    const Barrier barrier = make_barrier(communicator, 0);
    CpuDevice device({.streams = 1});
    const auto measure = [&](const TransferPlan& plan) {
      return measure_transfer(communicator, plan, barrier, TransferMemory(plan, device));
    };
    constexpr WireKind kinds[] = {WireKind::all_reduce, WireKind::all_gather,
                                  WireKind::reduce_scatter, WireKind::all_to_all,
                                  WireKind::broadcast};
    for (std::size_t k = 0; k < 5; ++k) {
      stamps[k][static_cast<std::size_t>(rank)] =
          measure({.kind = kinds[k],
                   .elements = 1000,
                   .place = rank,
                   .repeats = 7,
                   .part = k % 2 == 0 ? PartPlace::old : PartPlace::recent});
    }
    stamps[5][static_cast<std::size_t>(rank)] =
        measure({.kind = rank == 0 ? WireKind::send : WireKind::recv,
                 .elements = 1000,
                 .peer = 1 - rank,
                 .repeats = 7});
    EXPECT_EQ(device.memory().allocated, 0);
  });
  for (const auto& of_ranks : stamps) {
    const std::vector<double> seconds = member_times(of_ranks).seconds;
    ASSERT_EQ(seconds.size(), 7U);
    for (const double s : seconds) EXPECT_GT(s, 0.0);
  }
}

TEST(TransferTiming, ResultsAndOldPartsAreTakenInTurn) {
  CpuDevice device({.streams = 1});
  TransferPlan plan{.kind = WireKind::all_gather, .elements = std::int64_t{1} << 21, .members = 2};
  EXPECT_TRUE(TransferMemory(plan, device).part(0).empty());  // its place in the whole
  plan.part = PartPlace::recent;
  {
    const TransferMemory recent(plan, device);
    EXPECT_EQ(recent.part(0).size(), std::size_t{1} << 22);  // half of the members' 8 MiB
    EXPECT_EQ(recent.part(0).data(), recent.part(1).data());
    EXPECT_NE(recent.whole(0).data(), recent.whole(1).data());
    EXPECT_EQ(recent.whole(0).data(), recent.whole(4).data());  // 32 MiB at least
    EXPECT_EQ(recent.recent(plan, 3).data(), recent.part(3).data());
  }
  plan.part = PartPlace::old;
  {
    const TransferMemory old(plan, device);
    constexpr int kCopies = 32 / 4;  // 32 MiB at least
    for (int i = 1; i < kCopies; ++i) EXPECT_NE(old.part(i).data(), old.part(0).data());
    EXPECT_EQ(old.part(kCopies).data(), old.part(0).data());
    EXPECT_EQ(device.memory().allocated, (std::int64_t{32} + 32) << 20);
    EXPECT_EQ(old.recent(plan, 0).data(), old.whole(3).data());
  }
  plan.kind = WireKind::reduce_scatter;  // its input was just written
  {
    const TransferMemory old(plan, device);
    EXPECT_EQ(old.whole(0).data(), old.whole(1).data());
    EXPECT_NE(old.part(0).data(), old.part(1).data());
  }
  plan.kind = WireKind::all_to_all;
  {
    const TransferMemory exchange(plan, device);
    EXPECT_EQ(exchange.whole(0).data(), exchange.whole(1).data());
    EXPECT_NE(exchange.other(0).data(), exchange.other(1).data());
  }
  plan.kind = WireKind::all_reduce;  // has no parts
  EXPECT_TRUE(TransferMemory(plan, device).part(0).empty());
  EXPECT_EQ(device.memory().allocated, 0);
}

TEST(TransferTiming, FromTheLastArrivalToTheLastEnd) {
  const std::vector<std::vector<TransferStamps>> stamps = {
      {{.arrived_s = 1.0, .ended_s = 5.0}, {.arrived_s = 10.0, .ended_s = 11.0}},
      {{.arrived_s = 3.0, .ended_s = 4.5}}};
  const MemberTimes times = member_times(stamps);
  EXPECT_EQ(times.seconds, std::vector<double>{2.0});
  EXPECT_EQ(times.early, std::vector<double>{0.25});  // one member 0.5 s before the other
  EXPECT_TRUE(member_times({}).seconds.empty());
}

TEST(TransferTiming, AMemberThatDidNotWaitIsEarlyByTheWholeTime) {
  // A broadcast's root hands its data over and goes on.
  const std::vector<std::vector<TransferStamps>> stamps = {{{.arrived_s = 0.0, .ended_s = 1.0}},
                                                           {{.arrived_s = 3.0, .ended_s = 4.0}}};
  const MemberTimes times = member_times(stamps);
  EXPECT_EQ(times.seconds, std::vector<double>{1.0});
  EXPECT_EQ(times.early, std::vector<double>{0.5});
}

TEST(TransferTiming, SizesHoldTheProgramsOwn) {
  const std::vector<std::int64_t> program = {1000, 4, 300, 1000};
  EXPECT_EQ(transfer_sizes(program), (std::vector<std::int64_t>{4, 16, 64, 256, 300, 1000}));
  EXPECT_TRUE(transfer_sizes({}).empty());
}

TEST(OverlapTiming, BothAreTimedAloneAndBeside) {
  std::array<OverlapTiming, 2> timing;
  on_two_ranks([&](int rank, Communicator& communicator) {
    CpuDevice device({.streams = 2});
    timing[static_cast<std::size_t>(rank)] = measure_overlap<double>(
        {.kernel = small_product(), .transfer = {.elements = 1 << 16, .repeats = 20}}, device,
        communicator, make_barrier(communicator, 0));
  });
  for (const OverlapTiming& t : timing) {
    EXPECT_GT(t.kernel_alone, 0.0);
    EXPECT_GT(t.kernel_beside, 0.0);
    EXPECT_GT(t.transfer_alone, 0.0);
    EXPECT_GT(t.transfer_beside, 0.0);
  }
}

TEST(OverlapTiming, TheftIsExtraTime) {
  const OverlapTiming timing{
      .kernel_alone = 2.0, .kernel_beside = 3.0, .transfer_alone = 1.0, .transfer_beside = 0.9};
  EXPECT_EQ(timing.kernel_theft(), 0.5);
  EXPECT_EQ(timing.transfer_theft(), 0.0);  // faster beside: noise
  EXPECT_EQ((OverlapTiming{.kernel_alone = 1.0, .kernel_beside = 100.0}).kernel_theft(), 8.0);
  EXPECT_EQ((OverlapTiming{.kernel_alone = 1.0}).kernel_theft(), 0.0);
}

}  // namespace
}  // namespace windtunnel
