#include "kernels/device/cpu_device.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <semaphore>
#include <vector>

namespace windtunnel {
namespace {

constexpr std::int64_t kCapacity = std::int64_t{1} << 30;
constexpr auto kStuck = std::chrono::seconds(60);  // only a device that deadlocks takes so long

/// What the host lets streams through.
class Gate {
 public:
  void open() { semaphore_.release(); }
  bool pass() { return semaphore_.try_acquire_for(kStuck); }

 private:
  std::binary_semaphore semaphore_{0};
};

TEST(CpuDevice, BlocksAreAligned) {
  CpuDevice device({.capacity_bytes = kCapacity});
  for (const std::int64_t bytes : {1, 511, 512, 513, 100'000, 3'000'000}) {
    void* at = device.allocate(bytes, 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 512, 0U) << bytes;
    static_cast<char*>(at)[bytes - 1] = 1;
  }
  EXPECT_EQ(device.memory().allocated, 512 * 3 + 1024 + 100'352 + 3'000'320);
}

TEST(CpuDevice, AGivenBackBlockServesItsStreamWhileItsTasksAreQueued) {
  CpuDevice device({.streams = 2, .capacity_bytes = kCapacity});
  Gate gate;
  bool passed = false;
  auto* first = static_cast<int*>(device.allocate(4096, 0));
  device.enqueue(0, [&, first] {
    passed = gate.pass();
    *first = 7;
  });
  device.deallocate(first);
  void* again = device.allocate(4096, 0);
  EXPECT_EQ(again, first);
  EXPECT_NE(device.allocate(4096, 1), first);
  int seen = 0;
  device.enqueue(0, [&, again] { seen = *static_cast<int*>(again); });
  gate.open();
  device.synchronize();
  EXPECT_TRUE(passed);
  EXPECT_EQ(seen, 7);  // what is given back keeps its content
}

TEST(CpuDevice, HasItsCapacityAndNoMore) {
  CpuDevice device({.capacity_bytes = kCapacity});
  EXPECT_THROW(device.allocate(kCapacity + 1, 0), OutOfDeviceMemory);
  void* half = device.allocate(kCapacity / 2, 0);
  EXPECT_THROW(device.allocate(kCapacity / 2 + 512, 0), OutOfDeviceMemory);
  EXPECT_EQ(device.memory().allocated, kCapacity / 2);
  device.deallocate(half);
  EXPECT_NE(device.allocate(kCapacity / 2, 0), nullptr);
}

TEST(CpuDevice, AStreamRunsInOrder) {
  CpuDevice device({.capacity_bytes = kCapacity});
  std::vector<int> ran;
  for (int i = 0; i < 3; ++i) device.enqueue(0, [&ran, i] { ran.push_back(i); });
  device.synchronize();
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2}));
}

TEST(CpuDevice, AWaitOrdersStreams) {
  CpuDevice device({.streams = 2, .events = 1, .capacity_bytes = kCapacity});
  Gate gate;
  int value = 0, seen = 0;
  device.record(0, 0);  // reached at once: the wait is not for this one
  device.enqueue(0, [&] {
    gate.pass();
    value = 5;
  });
  device.record(0, 0);
  device.wait(0, 1);
  device.enqueue(1, [&] { seen = value; });
  gate.open();
  device.synchronize();
  EXPECT_EQ(seen, 5);
}

TEST(CpuDevice, AWaitIsNotForALaterRecord) {
  CpuDevice device({.streams = 2, .events = 1, .capacity_bytes = kCapacity});
  Gate gate;
  bool passed = false;
  device.record(0, 0);
  device.wait(0, 1);
  device.enqueue(1, [&] { gate.open(); });
  device.enqueue(0, [&] { passed = gate.pass(); });
  device.record(0, 0);
  device.synchronize();
  EXPECT_TRUE(passed);
}

TEST(CpuDevice, NeverRecordedDoesNotWait) {
  CpuDevice device({.streams = 2, .events = 2, .capacity_bytes = kCapacity});
  int ran = 0;
  device.wait(1, 0);
  device.enqueue(0, [&] { ++ran; });
  device.synchronize(1);
  device.synchronize();
  EXPECT_EQ(ran, 1);
}

TEST(CpuDevice, TheHostWaitsForAnEvent) {
  CpuDevice device({.streams = 2, .events = 1, .capacity_bytes = kCapacity});
  Gate gate;
  int value = 0;
  device.enqueue(1, [&] { gate.pass(); });  // another stream does not hold it up
  device.enqueue(0, [&] { value = 3; });
  device.record(0, 0);
  device.synchronize(0);
  EXPECT_EQ(value, 3);
  gate.open();
}

}  // namespace
}  // namespace windtunnel
