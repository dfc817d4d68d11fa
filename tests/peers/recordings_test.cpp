// Does a lowered plan issue what PyTorch issued for the same toy model and plan, line by line, but
// for the differences that have a name?

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plan/lower.h"
#include "plan/resolve.h"
#include "program/mesh.h"
#include "tests/peers/lowered_events.h"
#include "tests/peers/named_differences.h"
#include "tests/peers/not_lowered.h"
#include "tests/peers/peer_cases.h"
#include "tests/peers/schedule_cases.h"
#include "tests/peers/stream_order.h"
#include "tests/peers/toy_scenario.h"

namespace windtunnel::peers {
namespace {

std::string group_of(const Program& program, const std::string& name, int rank) {
  for (const Comm& comm : program.comms) {
    if (comm.name == name)
      return fmt::format("{}", fmt::join(members(program.mesh, comm, rank), ","));
  }
  return "";
}

RankContext context_of(const Program& program, int rank) {
  RankContext at{.ranks = static_cast<int>(program.mesh.ranks()), .dp = program.mesh.dp};
  at.dp_group = group_of(program, "dp", rank);
  at.shard_group = group_of(program, "world", rank);
  if (at.shard_group.empty()) at.shard_group = group_of(program, "model", rank);
  at.has_loss = coordinates_of(dense_grid(program.mesh), rank).pp == program.mesh.pp - 1;
  return at;
}

/// A difference with what comes before and after it, for the eye.
std::string first_difference(const EventList& expected, const EventList& got) {
  const auto [e, g] = std::mismatch(expected.begin(), expected.end(), got.begin(), got.end());
  const std::ptrdiff_t at = e - expected.begin();
  std::string text;
  for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(0, at - 3); i < at + 6; ++i) {
    const auto line = [&](const EventList& list) {
      return i < static_cast<std::ptrdiff_t>(list.size()) ? list[static_cast<std::size_t>(i)]
                                                          : std::string("(end)");
    };
    text += fmt::format("  {:>4}  {:<45} {}\n", i, line(expected), line(got));
  }
  return text;
}

/// Transfers of one batch start together: their order says nothing.
void sort_batches(EventList& events) {
  const auto batched = [](const std::string& line) { return line.ends_with(" batched"); };
  for (auto begin = events.begin(); begin != events.end();) {
    begin = std::find_if(begin, events.end(), batched);
    const auto end = std::find_if_not(begin, events.end(), batched);
    std::sort(begin, end);
    begin = end;
  }
}

class Peers : public testing::TestWithParam<PeerCase> {};

TEST_P(Peers, IssuesWhatWasRecorded) {
  const PeerCase& row = GetParam();
  const Json file = load_recording(row.file);
  const Program program = lower(resolve(scenario_of(row, file)));
  for (int rank = 0; rank < file.at("ranks").get<int>(); ++rank) {
    EventList expected = recorded_events(file, row.variant, rank, row.detail);
    EventList got = lowered_events(program, rank, row.detail);
    for (const char* name : row.differences) {
      const NamedDifference& difference = named_difference(name);
      const RankContext at = context_of(program, rank);
      expected = difference.apply(std::move(expected), at);
      if (difference.on_both) got = difference.apply(std::move(got), at);
    }
    sort_batches(expected);
    sort_batches(got);
    EXPECT_TRUE(expected == got) << "rank " << rank << ", recorded and lowered:\n"
                                 << first_difference(expected, got);
  }
}

const PeerCase& case_of(const std::string& file, const std::string& variant) {
  const auto found = std::ranges::find_if(peer_cases(), [&](const PeerCase& row) {
    return row.file == file && row.variant == variant;
  });
  return *found;
}

void expect_stream_order(const std::string& recording, const std::string& variant,
                         const PeerCase& like) {
  const Json file = load_recording(recording);
  PeerCase row = like;
  row.variant = variant.c_str();
  const Program program = lower(resolve(scenario_of(row, file)));
  const EventList expected = recorded_stream_order(file, variant);
  const EventList got = lowered_stream_order(program, 0);
  EXPECT_TRUE(expected == got) << recording << " " << variant << ", recorded and lowered:\n"
                               << first_difference(expected, got);
}

TEST(PeerStreams, WaitForWhatWasRecorded) {
  expect_stream_order("fsdp2_streams_2", "root_reshard", case_of("fsdp2_2", "root_reshard"));
  expect_stream_order("fsdp2_streams_2", "root_keep", case_of("fsdp2_2", "root_keep"));
  PeerCase hsdp = case_of("fsdp2_2", "root_reshard");
  hsdp.change = [](Scenario& s) {
    case_of("fsdp2_2", "root_reshard").change(s);
    s.plan.sharding.kind = ShardingKind::hsdp;
    s.plan.sharding.shard_degree = 2;
  };
  expect_stream_order("fsdp2_streams_hsdp", "hsdp_2x2", hsdp);
}

TEST(PeerDifferences, EveryOneIsUsed) {
  for (const NamedDifference& difference : named_differences()) {
    const auto names = [&](const auto& row) {
      return std::ranges::any_of(row.differences,
                                 [&](const std::string& name) { return name == difference.name; });
    };
    EXPECT_TRUE(std::ranges::any_of(peer_cases(), names) ||
                std::ranges::any_of(schedule_cases(), names))
        << difference.name;
  }
}

TEST(PeerDifferences, EveryOneChangesWhatNamesIt) {
  for (const PeerCase& row : peer_cases()) {
    const Json file = load_recording(row.file);
    const Program program = lower(resolve(scenario_of(row, file)));
    std::vector<bool> changes(row.differences.size(), false);
    for (int rank = 0; rank < file.at("ranks").get<int>(); ++rank) {
      EventList events = recorded_events(file, row.variant, rank, row.detail);
      for (std::size_t i = 0; i < row.differences.size(); ++i) {
        const EventList before = events;
        events = named_difference(row.differences[i]).apply(events, context_of(program, rank));
        changes[i] = changes[i] || events != before;
      }
    }
    for (std::size_t i = 0; i < row.differences.size(); ++i)
      EXPECT_TRUE(changes[i]) << row.file << " " << row.variant << ": " << row.differences[i];
  }
}

TEST(PeerRecordings, EveryVariantIsComparedOrSaysWhyNot) {
  for (const char* name :
       {"ddp_2", "ddp_4", "fsdp1_2", "fsdp2_2", "fsdp2_4", "fsdp2_hsdp_4", "pipeline_run_2",
        "pipeline_run_4", "pipeline_run_fsdp_4", "tensor_parallel_2", "zero1_2"}) {
    const auto recording = load_recording(name);
    for (const auto& [variant, value] : recording.at("variants").items()) {
      const auto is = [&](const auto& row) {
        return row.file == std::string(name) && row.variant == variant;
      };
      EXPECT_EQ(std::ranges::count_if(peer_cases(), is) + std::ranges::count_if(not_lowered(), is),
                1)
          << name << " " << variant;
    }
  }
}

std::string test_name(const testing::TestParamInfo<PeerCase>& info) {
  std::string name = std::string(info.param.file) + "_" + info.param.variant;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Recorded, Peers, testing::ValuesIn(peer_cases()), test_name);

}  // namespace
}  // namespace windtunnel::peers
