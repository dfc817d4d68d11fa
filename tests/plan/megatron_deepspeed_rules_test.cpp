// What Megatron-DeepSpeed does that the plan's keys do not say
// (plan/frameworks/megatron_deepspeed.cpp).

#include <gtest/gtest.h>

#include "plan/lower.h"
#include "plan/resolve.h"
#include "scenarios/loader.h"

namespace windtunnel {
namespace {

Program program_of(const std::string& preset, const std::string& plan, int devices = 2,
                   const std::string& stack = "") {
  const std::string text =
      "model: {layers: 4, hidden: 16, ffn: 24, heads: 4, vocab: 32}\n"
      "cluster: {device: a100-sxm-80gb, nodes: 1, devices_per_node: " +
      std::to_string(devices) +
      "}\n"
      "batch: {global: 8, micro: 1, sequence: 8}\n"
      "plan: {preset: " +
      preset + ", " + plan + "}\n" + stack;
  return lower(resolve(load_scenarios_text(text, "test.yaml").scenarios.front()));
}

bool waits_for_device(const Program& p, const Segment& segment) {
  for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
    if (p.ops[i].kind == OpKind::host_sync) return true;
  }
  return false;
}

/// Forwards of a role, and those of them the host begins with the device idle.
std::pair<int, int> forwards_and_waits(const Program& p, const Role& role) {
  int forwards = 0, waits = 0;
  for (std::size_t i = 0; i < role.calls.size(); ++i) {
    const Segment& segment = p.segments[role.calls[i].segment];
    if (p.names[segment.name].rfind("forward.", 0) != 0) continue;
    ++forwards;
    waits += i > 0 && waits_for_device(p, p.segments[role.calls[i - 1].segment]);
  }
  return {forwards, waits};
}

TEST(MegatronDeepspeedRules, TheHostWaitsBeforeEveryForward) {
  for (const char* plan : {"tp: 2", "pp: 2"}) {
    const Program p = program_of("megatron_deepspeed", plan);
    for (const Role& role : p.roles) {
      EXPECT_EQ(forwards_and_waits(p, role), std::pair(8, 8)) << plan;
    }
  }
  const Program none = program_of("none", "tp: 2");
  EXPECT_EQ(forwards_and_waits(none, none.roles[0]), std::pair(8, 0));
}

/// Waits of the host inside a segment named so, on the first stage.
int waits_inside(const Program& p, const std::string& segment_name) {
  for (const Call& call : p.roles[0].calls) {
    const Segment& s = p.segments[call.segment];
    if (p.names[s.name] != segment_name) continue;
    int waits = 0;
    for (std::uint32_t i = s.op_begin; i < s.op_end; ++i) {
      waits += p.ops[i].kind == OpKind::host_sync ? 1 : 0;
    }
    return waits;
  }
  ADD_FAILURE() << "no segment " << segment_name;
  return -1;
}

TEST(MegatronDeepspeedRules, PartsSentBetweenStagesAreDescribedOnTheDevice) {
  // On the first of two stages: its output is cut (the shape is copied to the device), the gradient
  // of its output is gathered (the shape is read back, until the readers kept it).
  struct Row {
    const char* plan;
    int devices;
    const char* date;
    int forward, backward;
  };
  for (const Row& row : {Row{"tp: 2, pp: 2", 4, "2023", 1, 1},
                         Row{"tp: 2, pp: 2", 4, "2024-01", 1, 0}, Row{"pp: 2", 2, "2023", 0, 0}}) {
    const Program p =
        program_of("megatron_deepspeed", row.plan, row.devices,
                   "stack: {framework: megatron-deepspeed, date: " + std::string(row.date) + "}\n");
    EXPECT_EQ(waits_inside(p, "forward.chunk0"), row.forward) << row.plan << row.date;
    EXPECT_EQ(waits_inside(p, "backward.chunk0"), row.backward) << row.plan << row.date;
  }
}

}  // namespace
}  // namespace windtunnel
