#include "tests/cli/program.h"

namespace windtunnel {
namespace {

using Usage = ProgramTest;

TEST_F(Usage, WithoutAVerbItNamesThem) {
  const Finished f = windtunnel("");
  EXPECT_EQ(f.exit_code, 2);
  EXPECT_EQ(f.out, "");
  EXPECT_EQ(f.err,
            "error: no verb\n"
            "  hint: one of: check, compare, plan, simulate, run, calibrate, rehearse, "
            "validate; windtunnel --help\n");
}

TEST_F(Usage, AMisspeltVerbIsCorrected) {
  const Finished f = windtunnel("simulat x.yaml");
  EXPECT_EQ(f.exit_code, 2);
  EXPECT_EQ(f.err, "error: no verb `simulat`\n  hint: did you mean `simulate`?\n");
}

TEST_F(Usage, HelpNamesEveryVerb) {
  const Finished f = windtunnel("--help");
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_EQ(f.err, "");
  for (const char* verb : {"check", "compare", "plan", "simulate", "run", "calibrate", "validate"})
    expect_contains(f.out, verb);
}

TEST_F(Usage, EveryVerbHasHelpWithItsOptionsAndExitStatus) {
  const std::pair<const char*, const char*> cases[] = {
      {"check", "--json"},    {"compare", "--max-step-error"},
      {"plan", "--resolved"}, {"simulate", "--trace"},
      {"run", "--verify"},    {"calibrate", "--budget"},
      {"validate", "PATH"}};
  for (const auto& [verb, option] : cases) {
    const Finished f = windtunnel(std::string(verb) + " --help");
    EXPECT_EQ(f.exit_code, 0) << verb;
    expect_contains(f.out, option);
    expect_contains(f.out, "Exit status");
  }
}

TEST_F(Usage, Version) {
  const Finished f = windtunnel("--version");
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_EQ(f.out, "windtunnel 0.1.0\n");
}

TEST_F(Usage, BadOptionsExitWithTwoAndSayWhich) {
  const std::pair<const char*, const char*> cases[] = {
      {"check", "FILE is required"},
      {"check a b", "not expected: b"},
      {"check a --jsno", "--jsno"},
      {"--frob", "no verb `--frob`"},
      {"check $DATA/unit.yaml --trace t", "--trace"},  // an option of another verb
      {"simulate a --draws 1", "0 (no interval) or from 2"},
      {"simulate a --draws x", "is no number: x"},
      {"simulate a --jitter 0.5", "not in range"},
      {"simulate a --seed -1", "--seed"},
      {"simulate a --trace ''", "--trace: names no file"},
      {"plan a --rank 1", "add --ops"},
      {"plan a --ops --rank -1", "is no rank: -1"},
      {"plan a --ops --grid", "--ops and --grid exclude each other"},
      {"plan a --json --resolved", "--json and --resolved exclude each other"},
      {"validate", "PATH is required"},
      {"compare", "A is required"},
      {"compare a", "B is required"},
      {"compare a b c", "not expected: c"},
      {"compare a b --max-step-error 10", "is no percentage: 10 (for example 10%)"},
      {"compare a b --max-step-error -1%", "is no percentage: -1%"},
      {"compare a b --max-step-error nan%", "is no percentage: nan%"},
      {"compare a b --max-term-error ''", "is no percentage:  (for"},
      {"compare a b --max-term-error 1e9%", "is no percentage: 1e9%"},
      {"compare a b --term-floor 3%", "add --max-term-error"},
      {"compare a b --trace-a t", "add --trace both.json"},
      {"compare a b --trace x --trace-b ''", "--trace-b: names no file"},
  };
  for (const auto& [arguments, message] : cases) {
    const Finished f = windtunnel(arguments);
    EXPECT_EQ(f.exit_code, 2) << arguments;
    EXPECT_EQ(f.out, "") << arguments;
    expect_contains(f.err, message);
    expect_contains(f.err, "error: ");
  }
}

}  // namespace
}  // namespace windtunnel
