// Memory errors the interpreter must name: slots used outside alloc and free, read before written,
// or left behind; and what weights and masters start from.

#include <gtest/gtest.h>

#include "runtime/interpreter.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/toy_program.h"

namespace windtunnel {
namespace {

using toy::error_of;
using toy::expect_has;
using toy::Toy;

/// One call on one rank that copies x (2) to y (2); `body` writes its ops.
template <class Body>
std::string error_of_call(Space space, Body body) {
  Toy t({});
  const SlotId x = t.slot("x", 2, space), y = t.slot("y", 2, space);
  t.open_call({.chunk = 0, .micro_batch = 0});
  body(t, x, y);
  return error_of(t.program);
}

TEST(InterpreterMemory, ACompleteCallRuns) {
  EXPECT_EQ(error_of_call(Space::scratch,
                          [](Toy& t, SlotId x, SlotId y) {
                            t.alloc(x);
                            t.alloc(y);
                            t.kernel(Kernel::zero, {2}, 0, {x});
                            t.kernel(Kernel::copy, {2}, 1, {x, y});
                            t.free(x);
                            t.free(y);
                          }),
            "no error");
}

TEST(InterpreterMemory, UseOutsideAllocAndFree) {
  expect_has(error_of_call(Space::scratch,
                           [](Toy& t, SlotId x, SlotId) { t.kernel(Kernel::zero, {2}, 0, {x}); }),
             "op 0 zero: slot 'x' (#0) is not allocated");
  expect_has(error_of_call(Space::scratch,
                           [](Toy& t, SlotId x, SlotId) {
                             t.alloc(x);
                             t.free(x);
                             t.free(x);
                           }),
             "op 2 free: slot 'x' (#0) is not allocated");
  expect_has(error_of_call(Space::scratch,
                           [](Toy& t, SlotId x, SlotId) {
                             t.alloc(x);
                             t.alloc(x);
                           }),
             "slot 'x' (#0) is allocated already");
}

TEST(InterpreterMemory, ReadBeforeWritten) {
  expect_has(error_of_call(Space::scratch,
                           [](Toy& t, SlotId x, SlotId y) {
                             t.alloc(x);
                             t.alloc(y);
                             t.kernel(Kernel::copy, {2}, 1, {x, y});
                           }),
             "op 2 copy: element 0 of slot 'x' (#0) was never written");
  expect_has(error_of_call(Space::scratch,
                           [](Toy& t, SlotId x, SlotId y) {
                             t.alloc(x);
                             t.alloc(y);
                             t.kernel(Kernel::zero, {2}, 0, {x});
                             t.kernel(Kernel::accumulate, {2}, 1, {x, y});
                           }),
             "of slot 'y' (#1) was never written");
}

TEST(InterpreterMemory, LeftBehind) {
  const auto leaves_x = [](Toy& t, SlotId x, SlotId) { t.alloc(x); };
  expect_has(error_of_call(Space::scratch, leaves_x),
             "slot 'x' (#0) is scratch and still allocated when its call ends");
  expect_has(error_of_call(Space::frame, leaves_x),
             "slot 'x' (#0) is still allocated when the step ends");
}

TEST(InterpreterMemory, OperandsMustHaveTheKernelsSizes) {
  expect_has(error_of_call(Space::scratch,
                           [](Toy& t, SlotId x, SlotId y) {
                             t.alloc(x);
                             t.alloc(y);
                             t.kernel(Kernel::zero, {2}, 0, {x});
                             t.kernel(Kernel::copy, {3}, 1, {x, y});
                           }),
             "has 2 elements, the kernel takes 3");
}

TEST(InterpreterMemory, FramesOfMicroBatchesAreApart) {
  Toy t({});
  const SlotId x = t.slot("x", 1, Space::frame);
  for (const std::int32_t micro_batch : {0, 1}) {
    t.open_call({.chunk = 0, .micro_batch = micro_batch});
    t.alloc(x);
  }
  for (const std::int32_t micro_batch : {0, 1}) {
    t.open_call({.chunk = 0, .micro_batch = micro_batch});
    t.free(x);
  }
  EXPECT_EQ(error_of(t.program), "no error");
}

/// sgd on a sharded weight with a master: the first update starts from the weights.
TEST(InterpreterMemory, WeightsStartFromTheirGlobalPlaceAndMastersFromWeights) {
  Toy t({.tp = 2});
  constexpr std::int64_t kRows = 6, kLocal = 3 * 2;  // two blocks of 4 and 2 rows, 2 columns
  const SlotId w = t.weight(
      "w", {.rows = kRows, .cols = 2, .padded_rows = kRows, .shard_dim = 0, .blocks = {4, 2, 0}},
      kLocal);
  const SlotId master = t.slot("master", kLocal, Space::statics);
  t.role().slots[master].category = Category::master_weights;
  const SlotId g = t.slot("g", kLocal, Space::scratch);
  t.open_prologue();
  t.alloc(w);
  t.alloc(master);
  t.open_call({.chunk = -1, .micro_batch = -1});
  t.alloc(g);
  t.kernel(Kernel::zero, {kLocal}, 0, {g});
  t.kernel(Kernel::sgd, {kLocal}, 1, {g, master, w});
  t.free(g);
  const ExecutionRecord sharded = execute(t.program, {.mode = NumberMode::field, .steps = 1});
  const auto& pieces = sharded.steps[0].updated;
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[0].index, (std::vector<std::int64_t>{0, 1, 2, 3, 8, 9}));
  EXPECT_EQ(pieces[1].index, (std::vector<std::int64_t>{4, 5, 6, 7, 10, 11}));
  Toy whole({});
  const SlotId all = whole.weight("w", {.rows = kRows, .cols = 2, .padded_rows = kRows}, 12);
  const SlotId zero = whole.slot("g", 12, Space::scratch);
  whole.open_prologue();
  whole.alloc(all);
  whole.open_call({.chunk = -1, .micro_batch = -1});
  whole.alloc(zero);
  whole.kernel(Kernel::zero, {12}, 0, {zero});
  whole.kernel(Kernel::sgd, {12}, 1, {zero, all, all});
  whole.free(zero);
  const ExecutionRecord one = execute(whole.program, {.mode = NumberMode::field, .steps = 1});
  for (const TensorPiece& piece : pieces) {
    for (std::size_t i = 0; i < piece.index.size(); ++i) {
      EXPECT_EQ(piece.values[i],
                one.steps[0].updated[0].values[static_cast<std::size_t>(piece.index[i])]);
    }
  }
}

TEST(InterpreterMemory, OpsOfTheFirstStepRunOnce) {
  Toy t({});
  const SlotId x = t.slot("x", 1, Space::statics);
  t.open_call({.chunk = -1, .micro_batch = -1});
  t.add({.kind = OpKind::alloc, .when = When::first_step}, {x});
  const ExecutionRecord record = execute(t.program, {.mode = NumberMode::field, .steps = 2});
  EXPECT_EQ(record.ranks[0].allocated_bytes, 4);
}

}  // namespace
}  // namespace windtunnel
