// Did the order of a schedule change? Step x rank grids of lowered pipelines against the texts in
// `grids/` (replace a text by the test's `actual` file when a change is meant), and issue orders
// against published lists.
//
// A grid is what an unlimited network would allow; the engine on device `unit` has to place every
// pass in the same slots.

#include "plan/schedules/schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "program/schedule_grid.h"
#include "tests/closed_form/unit_step.h"

namespace windtunnel {
namespace {

using closed_form::unit_scenario;
using closed_form::UnitPipeline;

struct GridCase {
  const char* name;  // of the test and, with .txt, of the file
  UnitPipeline pipeline;
};

std::ostream& operator<<(std::ostream& out, const GridCase& c) {
  return out << c.name;
}

/// One second a slot: a chunk's forward takes one, its backward two.
UnitPipeline in_slots(UnitPipeline p) {
  p.forward = p.virtual_stages;
  p.backward = 2.0 * p.virtual_stages;
  return p;
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Grids : public testing::TestWithParam<GridCase> {};

TEST_P(Grids, AreUnchanged) {
  const GridCase& c = GetParam();
  const std::string file = std::string(c.name) + ".txt";
  const std::string golden = file_text(WINDTUNNEL_SOURCE_DIR "/tests/golden/grids/" + file);
  const std::string text =
      schedule_grid(lower_scenario(unit_scenario(in_slots(c.pipeline))).program);
  if (text == golden) return;
  const std::string actual = testing::TempDir() + file + ".actual";
  std::ofstream(actual) << text;
  FAIL() << file << " differs from " << actual << ":\n" << text;
}

/// Slots [begin, end) of every pass of a role in the order of its calls, from the engine's trace.
std::vector<GridPass> simulated_passes(const Simulation& s, std::int16_t role) {
  const std::vector<Call>& calls = s.lowered.program.roles[static_cast<std::size_t>(role)].calls;
  constexpr Picoseconds kSlot = 1'000'000'000'000;
  std::vector<GridPass> passes;
  for (const TraceRecord& r : s.trace.records) {
    const Op& op = s.lowered.program.ops[r.op];
    if (r.role != role || op.kind != OpKind::compute || r.start == r.end) continue;
    const Call& call = calls[r.call];
    EXPECT_EQ(r.start % kSlot, 0);
    EXPECT_EQ(r.end % kSlot, 0);
    passes.push_back({.backward = op.phase == Phase::backward,
                      .makes_input = op.phase == Phase::backward,
                      .makes_weight = op.phase == Phase::backward,
                      .chunk = call.chunk,
                      .micro_batch = call.micro_batch,
                      .begin = static_cast<int>(r.start / kSlot),
                      .end = static_cast<int>(r.end / kSlot)});
  }
  return passes;
}

/// "F0.3 4-5": forward of chunk 0 and micro-batch 3 in slot 4.
std::string text_of(const std::vector<GridPass>& passes) {
  std::string text;
  for (const GridPass& p : passes)
    text += fmt::format("{}{}.{} {}-{}, ", p.backward ? 'B' : 'F', p.chunk, p.micro_batch, p.begin,
                        p.end);
  return text;
}

void expect_engine_runs_grid(const UnitPipeline& pipeline) {
  const Simulation s = simulate(unit_scenario(pipeline), {.draws = 0, .trace = true});
  const std::vector<std::vector<GridPass>> grid = schedule_passes(s.lowered.program);
  for (std::int16_t role = 0; role < pipeline.pp; ++role) {
    EXPECT_EQ(text_of(simulated_passes(s, role)), text_of(grid[static_cast<std::size_t>(role)]))
        << "rank " << role << (pipeline.asynchronous ? ", asynchronous" : ", blocking");
  }
}

TEST_P(Grids, AreWhatTheEngineRuns) {
  UnitPipeline pipeline = in_slots(GetParam().pipeline);
  expect_engine_runs_grid(pipeline);
  // Blocking transfers of interleaving wait for a whole forward-backward pair, so that passes in
  // its middle move (the step stays as long: the closed forms).
  if (pipeline.virtual_stages > 1) return;
  pipeline.asynchronous = false;
  expect_engine_runs_grid(pipeline);
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, Grids,
    testing::Values(GridCase{"gpipe_p4_m4", {"gpipe", 4, 4}},
                    GridCase{"gpipe_p4_m8", {"gpipe", 4, 8}},
                    GridCase{"gpipe_p2_m3", {"gpipe", 2, 3}},
                    GridCase{"1f1b_p4_m4", {"1f1b", 4, 4}}, GridCase{"1f1b_p4_m8", {"1f1b", 4, 8}},
                    GridCase{"1f1b_p2_m3", {"1f1b", 2, 3}},
                    GridCase{"1f1b_p4_m2", {"1f1b", 4, 2}},  // fewer micro-batches than stages
                    GridCase{"interleaved_p2_m4_v2", {"interleaved_1f1b", 2, 4, 2}},
                    GridCase{"interleaved_p4_m8_v2", {"interleaved_1f1b", 4, 8, 2}},
                    GridCase{"interleaved_p4_m12_v2_N6", {"interleaved_1f1b", 4, 12, 2, 6}},
                    GridCase{"interleaved_p2_m5_v2_N3", {"interleaved_1f1b", 2, 5, 2, 3}}),
    [](const testing::TestParamInfo<GridCase>& instance) {
      return std::string(instance.param.name);
    });

std::vector<GridPass> passes_of(const Program& program, std::size_t role) {
  return schedule_passes(program)[role];
}

/// "F0 B0 .." of one rank; with several chunks a pass is kind, model chunk, micro-batch: "F2.0".
std::string order_of(const Program& program, std::size_t role) {
  const std::vector<Chunk>& chunks = program.roles[role].chunks;
  std::string text;
  for (const GridPass& pass : passes_of(program, role)) {
    if (!text.empty()) text += ' ';
    text += pass.backward ? 'B' : 'F';
    if (chunks.size() > 1)
      text += fmt::format("{}.", chunks[static_cast<std::size_t>(pass.chunk)].global_chunk);
    text += std::to_string(pass.micro_batch);
  }
  return text;
}

Program lowered(const UnitPipeline& pipeline) {
  return lower_scenario(unit_scenario(pipeline)).program;
}

TEST(IssueOrder, OneForwardOneBackwardP4M4) {
  const Program program = lowered({"1f1b", 4, 4});
  EXPECT_EQ(order_of(program, 0), "F0 F1 F2 F3 B0 B1 B2 B3");
  EXPECT_EQ(order_of(program, 1), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(order_of(program, 2), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(order_of(program, 3), "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST(IssueOrder, InterleavedP2M4V2) {
  const Program program = lowered({"interleaved_1f1b", 2, 4, 2});
  EXPECT_EQ(order_of(program, 0),
            "F0.0 F0.1 F2.0 F2.1 F0.2 B2.0 F0.3 B2.1 F2.2 B0.0 F2.3 B0.1 B2.2 B2.3 B0.2 B0.3");
  EXPECT_EQ(order_of(program, 1),
            "F1.0 F1.1 F3.0 B3.0 F3.1 B3.1 F1.2 B1.0 F1.3 B1.1 F3.2 B3.2 F3.3 B3.3 B1.2 B1.3");
}

/// Forwards before the first backward, less the one that pairs with it.
int warm_up_of(const Program& program, std::size_t role) {
  int forwards = 0;
  for (const GridPass& pass : passes_of(program, role)) {
    if (pass.backward) break;
    ++forwards;
  }
  return forwards - 1;
}

// 2 (p - r - 1) + (v - 1) N (NVIDIA/Megatron-LM core/pipeline_parallel/schedules.py).
TEST(IssueOrder, Oracle_O_096_interleaved_warm_up) {
  const UnitPipeline pipeline{"interleaved_1f1b", 8, 32, 4, 8};
  const Program program = lowered(pipeline);
  for (int rank = 0; rank < 8; ++rank) {
    const int expected = 38 - 2 * rank;
    const int got = warm_up_of(program, static_cast<std::size_t>(rank));
    std::printf("O-096, rank %d: expected %d got %d\n", rank, expected, got);
    EXPECT_EQ(got, expected);
  }
}

// The schedule table of interleaving: p 2, N 3, m 5, v 2 (same source).
TEST(IssueOrder, Oracle_O_097_interleaved_table) {
  const Program program = lowered({"interleaved_1f1b", 2, 5, 2, 3});
  for (std::size_t role = 0; role < 2; ++role) {
    std::string micro_batches, chunks;
    for (const GridPass& pass : passes_of(program, role)) {
      if (pass.backward) continue;
      micro_batches += std::to_string(pass.micro_batch);
      chunks += std::to_string(pass.chunk);
    }
    std::printf("O-097, rank %zu: expected 0120123434 / 0001110011 got %s / %s\n", role,
                micro_batches.c_str(), chunks.c_str());
    EXPECT_EQ(micro_batches, "0120123434");
    EXPECT_EQ(chunks, "0001110011");
  }
}

// The same order backwards, chunks mirrored: what a rank's backwards run.
TEST(IssueOrder, InterleavedBackwardsMirrorTheTable) {
  const Program program = lowered({"interleaved_1f1b", 2, 5, 2, 3});
  for (std::size_t role = 0; role < 2; ++role) {
    std::string micro_batches, chunks;
    for (const GridPass& pass : passes_of(program, role)) {
      if (!pass.backward) continue;
      micro_batches += std::to_string(pass.micro_batch);
      chunks += std::to_string(pass.chunk);
    }
    EXPECT_EQ(micro_batches, "0120123434");
    EXPECT_EQ(chunks, "1110001100");
  }
}

}  // namespace
}  // namespace windtunnel
