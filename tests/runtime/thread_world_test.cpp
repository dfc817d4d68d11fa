// Failures of ranks on devices: told once, with their cause, and nobody waits for ever.

#include "runtime/thread_world.h"

#include <gtest/gtest.h>

#include "tests/runtime/expect_error.h"
#include "tests/runtime/toy_program.h"

namespace windtunnel {
namespace {

using toy::expect_has;
using toy::Toy;

Op message(OpKind kind, Stream stream, std::int16_t peer, std::uint32_t comm) {
  return {.kind = kind,
          .stream = stream,
          .inputs = static_cast<std::uint8_t>(kind == OpKind::send ? 1 : 0),
          .peer = peer,
          .comm = comm,
          .elements = 4,
          .dtype = Dtype::fp32};
}

/// Rank 0 waits on one stream for an answer to what it should send on another, where it fails.
Program unanswered(bool fails) {
  Toy t({.pp = 2});
  const std::uint32_t there = t.comm("pp_fwd", kAxisPp), back = t.comm("pp_bwd", kAxisPp);
  const SlotId x = t.slot("x", 4, Space::scratch), y = t.slot("y", 4, Space::scratch);
  const SlotId never = t.slot("never", 4, Space::scratch);
  t.open_call({});
  t.alloc(x);
  t.alloc(y);
  t.add(message(OpKind::recv, Stream::pp_recv_bwd, 1, back), {y});
  t.kernel(Kernel::zero, {4}, 0, {x});
  if (fails) t.kernel(Kernel::zero, {4}, 0, {never});
  t.add(message(OpKind::send, Stream::compute, 1, there), {x});
  t.use_role(1);
  const SlotId z = t.slot("z", 4, Space::scratch);
  t.open_call({});
  t.alloc(z);
  t.add(message(OpKind::recv, Stream::compute, 0, there), {z});
  t.add(message(OpKind::send, Stream::compute, 0, back), {z});
  return t.program;
}

TEST(ThreadWorld, AFailureReachesTheRanksOwnStreams) {
  try {
    execute_in_threads(unanswered(true), {.mode = NumberMode::fp64, .steps = 1});
    FAIL() << "the program ran";
  } catch (const ExecutionError& error) {
    expect_has(error.what(), "slot 'never'");
    expect_has(error.what(), "is not allocated");
  }
}

TEST(ThreadWorld, TheSameProgramRunsWithoutTheFault) {
  EXPECT_NO_THROW(execute_in_threads(unanswered(false), {.mode = NumberMode::fp64, .steps = 1}));
}

}  // namespace
}  // namespace windtunnel
