// Standard output that is closed or full, and standard error that is a file.

#include "tests/cli/program.h"

namespace windtunnel {
namespace {

using OutputOf = ProgramTest;

TEST_F(OutputOf, AFullDiskIsSaid) {
  const Finished f = windtunnel("plan $DATA/unit.yaml > /dev/full");
  EXPECT_EQ(f.exit_code, 2);
  EXPECT_EQ(f.err, "standard output: error: cannot write the result: No space left on device\n");
}

TEST_F(OutputOf, AClosedPipeIsSaid) {
  // The reader ends at once; the list of ops is larger than any pipe holds.
  const Finished f = shell(
      "{ \"$WINDTUNNEL\" plan $DATA/small.yaml --ops; echo $? > status; } | true; exit $(<status)");
  EXPECT_EQ(f.exit_code, 2);
  expect_contains(f.err, "standard output: error: cannot write the result: Broken pipe");
}

TEST_F(OutputOf, AStreamClosedByTheCallerIsAnErrorNotAFileOfOurs) {
  const Finished f = windtunnel("simulate $DATA/unit.yaml --trace step.json >&-");
  EXPECT_EQ(f.exit_code, 2);
  expect_contains(f.err, "standard output: error: ");
  EXPECT_EQ(read_file(folder / "work" / "step.json").front(), '{') << "the trace is whole";
}

TEST_F(OutputOf, ProgressStaysOutOfFiles) {
  const Finished f = windtunnel("validate $DATA/set.yaml");
  EXPECT_EQ(f.err, "");
}

}  // namespace
}  // namespace windtunnel
