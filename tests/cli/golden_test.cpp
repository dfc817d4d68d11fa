// What the verbs print, to the byte. After a change that is meant, the variable
// WINDTUNNEL_WRITE_GOLDENS=1 makes these tests write what they got; the diff is then reviewed.

#include <cstdlib>
#include <fstream>

#include "tests/cli/program.h"

namespace windtunnel {
namespace {

struct GoldenCase {
  const char* file;
  const char* arguments;
};

void PrintTo(const GoldenCase& golden, std::ostream* out) {
  *out << golden.arguments;
}

class Golden : public ProgramTest, public testing::WithParamInterface<GoldenCase> {};

TEST_P(Golden, OutputIsUnchanged) {
  const Finished f = windtunnel(GetParam().arguments);
  EXPECT_EQ(f.exit_code, 0) << f.err;
  const std::string path =
      std::string(WINDTUNNEL_SOURCE_DIR) + "/tests/cli/golden/" + GetParam().file;
  if (std::getenv("WINDTUNNEL_WRITE_GOLDENS")) std::ofstream(path) << f.out;
  EXPECT_EQ(f.out, read_file(path));
}

INSTANTIATE_TEST_SUITE_P(
    Verbs, Golden,
    testing::Values(GoldenCase{"check_small.txt", "check $DATA/small.yaml"},
                    GoldenCase{"compare_set.txt", "compare $DATA/set.yaml $DATA/set.yaml"},
                    GoldenCase{"plan_unit.txt", "plan $DATA/unit.yaml"},
                    GoldenCase{"plan_grid_set.txt", "plan $DATA/set.yaml --grid"},
                    GoldenCase{"resolved_unit.txt", "plan $DATA/unit.yaml --resolved"},
                    GoldenCase{"simulate_unit.txt", "simulate $DATA/unit.yaml"},
                    GoldenCase{"simulate_json_unit.json", "simulate --json $DATA/unit.yaml"},
                    GoldenCase{"validate_set.txt", "validate $DATA/set.yaml"}),
    [](const auto& test) {
      const std::string file = test.param.file;
      return file.substr(0, file.find('.'));
    });

}  // namespace
}  // namespace windtunnel
