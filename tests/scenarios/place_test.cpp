// Diagnostics at keys after reading.

#include <gtest/gtest.h>

#include "scenarios/scenario_place.h"
#include "tests/scenarios/loading.h"

namespace windtunnel {
namespace {

TEST(Place, AKeyStandsAtItsValueOrAtTheSectionAroundIt) {
  const Scenario s = load_one(tiny_scenario("{tp: 2, schedule: {kind: gpipe}}"));
  EXPECT_EQ(position_of(s, "plan.tp").column, 12);
  EXPECT_EQ(position_of(s, "plan.schedule.virtual_stages").column, 15);
  EXPECT_EQ(position_of(s, "plan.dp").line, 4);
  EXPECT_EQ(position_of(s, "measured.oom").line, 1);
}

TEST(Place, ADiagnosticShowsTheLine) {
  const Scenario s = load_one(tiny_scenario("{tp: 2}"));
  EXPECT_EQ(render(diagnostic_at(s, "plan.tp", "too small", "tp: 4")),
            "test.yaml:4:12: error: too small\n"
            "  plan: {tp: 2}\n"
            "             ^\n"
            "  hint: tp: 4");
}

}  // namespace
}  // namespace windtunnel
