// Collectives and messages of the interpreter, seen through an optimizer step on their result.
//
// Every rank draws tokens (a function of its data-parallel place), exchanges them, and "trains" a
// weight with the result as gradient, which the record shows.

#include <gtest/gtest.h>

#include <numeric>

#include "program/mesh.h"
#include "runtime/interpreter.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/toy_program.h"

namespace windtunnel {
namespace {

using toy::error_of;
using toy::expect_has;
using toy::Toy;

constexpr std::int64_t kTokens = 4;

struct Exchange {
  Collective collective;
  ReduceOp reduce;
  std::int64_t elements;  // of the full tensor
  std::int64_t out;       // elements of the result
};

/// Two data-parallel ranks: tokens (4) -> collective -> gradient of a weight.
Program exchange_program(const Exchange& e) {
  Toy t({.dp = 2});
  const std::uint32_t dp = t.comm("dp", kAxisDp);
  const SlotId w = t.weight("w", {.rows = e.out, .padded_rows = e.out}, e.out);
  const SlotId x = t.slot("x", kTokens, Space::scratch);
  const SlotId g = t.slot("g", e.out, Space::scratch);
  t.open_prologue();
  t.alloc(w);
  t.open_call({.chunk = -1, .micro_batch = 0});
  t.alloc(x);
  t.alloc(g);
  t.kernel(Kernel::load_tokens, {kTokens, 1}, 0, {x});
  t.add({.kind = OpKind::collective,
         .collective = e.collective,
         .reduce = e.reduce,
         .inputs = 1,
         .comm = dp,
         .elements = e.elements,
         .dtype = Dtype::fp32},
        {x, g});
  t.kernel(Kernel::sgd, {e.out}, 1, {g, w, w});
  t.free(x);
  t.free(g);
  return t.program;
}

/// Gradient of each rank in the first step.
std::vector<std::vector<double>> gradients(const Program& program, NumberMode mode) {
  const ExecutionRecord record = execute(program, {.mode = mode, .steps = 1});
  std::vector<std::vector<double>> result(record.ranks.size());
  for (const TensorPiece& piece : record.steps[0].gradients) {
    result[static_cast<std::size_t>(piece.rank)] = piece.values;
  }
  return result;
}

/// What the two ranks put in: an all-gather shows it.
std::vector<double> both_inputs() {
  const auto all =
      gradients(exchange_program({Collective::all_gather, ReduceOp::none, 8, 8}), NumberMode::fp64);
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0].size(), 8U);
  EXPECT_NE(std::vector(all[0].begin(), all[0].begin() + 4),
            std::vector(all[0].begin() + 4, all[0].end()));
  return all[0];
}

TEST(Interpreter, AllReduceSumAverageAndMax) {
  const std::vector<double> in = both_inputs();
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average, ReduceOp::max}) {
    const auto got =
        gradients(exchange_program({Collective::all_reduce, op, 4, 4}), NumberMode::fp64);
    for (std::size_t i = 0; i < 4; ++i) {
      const double a = in[i], b = in[i + 4];
      const double expected =
          op == ReduceOp::max ? std::max(a, b) : (a + b) / (op == ReduceOp::average ? 2 : 1);
      EXPECT_EQ(got[0][i], expected);
      EXPECT_EQ(got[1][i], expected);
    }
  }
}

TEST(Interpreter, ReduceScatterGivesEachRankItsSlice) {
  const std::vector<double> in = both_inputs();
  const auto got = gradients(exchange_program({Collective::reduce_scatter, ReduceOp::sum, 4, 2}),
                             NumberMode::fp64);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(got[rank][i], in[2 * rank + i] + in[2 * rank + i + 4]);
    }
  }
}

TEST(Interpreter, AllToAllTransposesAndBroadcastCopiesTheFirst) {
  const std::vector<double> in = both_inputs();
  const auto swapped =
      gradients(exchange_program({Collective::all_to_all, ReduceOp::none, 4, 4}), NumberMode::fp64);
  EXPECT_EQ(swapped[0], (std::vector<double>{in[0], in[1], in[4], in[5]}));
  EXPECT_EQ(swapped[1], (std::vector<double>{in[2], in[3], in[6], in[7]}));
  const auto copied =
      gradients(exchange_program({Collective::broadcast, ReduceOp::none, 4, 4}), NumberMode::fp64);
  EXPECT_EQ(copied[0], copied[1]);
  EXPECT_EQ(copied[1][3], in[3]);
}

TEST(Interpreter, RingShiftGivesEachRankTheOneBefores) {
  const std::vector<double> in = both_inputs();
  const auto got =
      gradients(exchange_program({Collective::ring_shift, ReduceOp::none, 4, 4}), NumberMode::fp64);
  EXPECT_EQ(got[0], (std::vector<double>{in[4], in[5], in[6], in[7]}));
  EXPECT_EQ(got[1], (std::vector<double>{in[0], in[1], in[2], in[3]}));
}

TEST(Interpreter, AverageInTheFieldIsAModularInverse) {
  const std::vector<double> in = both_inputs();
  const auto got = gradients(exchange_program({Collective::all_reduce, ReduceOp::average, 4, 4}),
                             NumberMode::field);
  constexpr std::uint64_t kPrime = (1ULL << 31) - 1;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto twice = 2 * static_cast<std::uint64_t>(got[0][i]) % kPrime;
    EXPECT_EQ(twice, static_cast<std::uint64_t>(in[i] + in[i + 4]));
  }
}

TEST(Interpreter, CountsBytesInTheFullTensorConvention) {
  const Program p = exchange_program({Collective::all_gather, ReduceOp::none, 8, 8});
  const ExecutionRecord record = execute(p, {.mode = NumberMode::field, .steps = 3});
  const TrafficKey key{0, OpKind::collective, Collective::all_gather};
  EXPECT_EQ(record.ranks[1].traffic.at(key).count, 3);
  EXPECT_EQ(record.ranks[1].traffic.at(key).bytes, 3 * 8 * 4);  // fp32
  EXPECT_EQ(record.ranks[1].peak_bytes, (8 + 4 + 8) * 4);       // w, x, g
  EXPECT_EQ(record.ranks[1].allocated_bytes, 8 * 4);            // w stays
}

struct Stage {
  std::int32_t micro_batch = 0;
  std::int64_t elements = kTokens;
  Stream stream = Stream::compute;
  bool waits = true;  // the compute stream for what arrives on another
};

/// Two pipeline stages: the first sends its tokens, the second trains a weight with them.
Program pipeline_program(const Stage& sender, const Stage& receiver) {
  Toy t({.pp = 2});
  const std::uint32_t pp = t.comm("pp_fwd", kAxisPp);
  const SlotId x = t.slot("x", sender.elements, Space::frame);
  t.open_call({.micro_batch = sender.micro_batch});
  t.alloc(x);
  t.kernel(Kernel::load_tokens, {sender.elements, 1}, 0, {x});
  t.add({.kind = OpKind::send,
         .inputs = 1,
         .peer = 1,
         .comm = pp,
         .elements = sender.elements,
         .dtype = Dtype::fp32},
        {x});
  t.free(x);
  t.use_role(1);
  const SlotId w = t.weight("w", {.rows = receiver.elements, .padded_rows = receiver.elements},
                            receiver.elements);
  const SlotId y = t.slot("y", receiver.elements, Space::frame);
  t.open_prologue();
  t.alloc(w);
  t.open_call({.micro_batch = receiver.micro_batch});
  t.alloc(y);
  t.add({.kind = OpKind::recv,
         .stream = receiver.stream,
         .peer = 0,
         .comm = pp,
         .elements = receiver.elements,
         .dtype = Dtype::fp32},
        {y});
  const std::uint32_t arrived = t.event("arrived");
  t.record(arrived, receiver.stream);
  if (receiver.waits) t.wait(arrived, Stream::compute);
  t.kernel(Kernel::sgd, {receiver.elements}, 1, {y, w, w});
  t.free(y);
  return t.program;
}

TEST(Interpreter, MessagesArriveOnAnyStream) {
  for (const Stream stream : {Stream::compute, Stream::pp_recv_fwd}) {
    const ExecutionRecord record =
        execute(pipeline_program({}, {.stream = stream}), {.mode = NumberMode::fp64, .steps = 2});
    ASSERT_EQ(record.steps[1].gradients.size(), 1U);
    EXPECT_EQ(record.steps[1].gradients[0].values.size(), 4U);
    EXPECT_NE(record.steps[0].gradients[0].values, record.steps[1].gradients[0].values);
    EXPECT_EQ(record.ranks[0].traffic.at({0, OpKind::send, Collective::all_reduce}).bytes, 32);
  }
}

TEST(Interpreter, UsingAMessageWithoutWaitingIsARace) {
  expect_has(error_of(pipeline_program({}, {.stream = Stream::pp_recv_fwd, .waits = false})),
             "sgd: race on slot 'y' (#1): no wait orders this after stream pp_recv_fwd's work");
}

TEST(Interpreter, MessagesMustBeTheOnesExpected) {
  expect_has(error_of(pipeline_program({.micro_batch = 1}, {.micro_batch = 2})),
             "activation over the boundary after chunk 0 where it expects");
  expect_has(error_of(pipeline_program({.elements = 4}, {.elements = 3})),
             "receives 4 fp32 elements of micro-batch 0");
}

TEST(Interpreter, AStuckProgramNamesWhatEachRankWaitsFor) {
  Program p = pipeline_program({}, {});
  for (Op& op : p.ops) {
    if (op.kind == OpKind::send) op.kind = OpKind::host_work;
  }
  const std::string text = error_of(p);
  expect_has(text, "no rank can go on:");
  expect_has(text, "rank 0 is done");
  expect_has(text, "rank 1 (tp 0, dp 0, pp 1), step 0, call 0 'segment' (chunk 0, micro-batch 0)");
  expect_has(text, "recv from role 0 on pp_fwd");
}

TEST(Interpreter, MembersOfACollectiveMustAgree) {
  Toy t({.pp = 2});
  const std::uint32_t model = t.comm("model", kAxisPp);
  for (std::size_t role = 0; role < 2; ++role) {
    t.use_role(role);
    const SlotId x = t.slot("x", 1, Space::scratch);
    t.open_call({.chunk = -1, .micro_batch = 0});
    t.alloc(x);
    t.kernel(Kernel::zero, {1}, 0, {x});
    t.add({.kind = OpKind::collective,
           .reduce = role == 0 ? ReduceOp::sum : ReduceOp::average,
           .inputs = 1,
           .comm = model,
           .elements = 1,
           .dtype = Dtype::fp32},
          {x, x});
    t.free(x);
  }
  expect_has(error_of(t.program),
             "collective 0 of its group is all_reduce average of 1 fp32 here and all_reduce sum");
}

}  // namespace
}  // namespace windtunnel
