#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/program.h"

namespace windtunnel {
namespace {

using nlohmann::json;

class Compare : public ProgramTest {
 protected:
  /// tests/cli/data/NAME.yaml with an edit of sed, in the working folder.
  std::string edited(const char* name, const char* edit, const char* file) const {
    return std::string("sed -e '") + edit + "' $DATA/" + name + ".yaml > " + file + " && ";
  }

  Finished compare(const std::string& arguments) const {
    return windtunnel("compare " + arguments);
  }
};

TEST_F(Compare, AScenarioEqualsItself) {
  const Finished f = compare(
      "$DATA/small.yaml $DATA/small.yaml --max-step-error 0% "
      "--max-term-error 0% --term-floor 0% --exact-memory --exact-traffic");
  EXPECT_EQ(f.exit_code, 0) << f.out;
  expect_contains(f.out, "B's step takes as long as A's.");
  expect_contains(f.out, "Memory: equal");
  expect_contains(f.out, "within     --max-step-error 0%");
}

TEST_F(Compare, AFileOfSimulateIsTheSameAsItsScenario) {
  const Finished f = shell(
      "$WINDTUNNEL simulate $DATA/small.yaml --json > a.json && "
      "$WINDTUNNEL compare a.json $DATA/unit.yaml --json > file.json && "
      "$WINDTUNNEL compare $DATA/small.yaml $DATA/unit.yaml --json > scenario.json && "
      "cmp file.json scenario.json");
  EXPECT_EQ(f.exit_code, 0) << f.err << f.out;
}

TEST_F(Compare, TheDifferenceIsTheClosedForm) {
  // A forward of 2 s instead of 1 s: (4 + 2 - 1) * (F + B) is 20 s instead of 15 s.
  const Finished f = shell(edited("unit", "s/F: \"1 s\"/F: \"2 s\"/", "b.yaml") +
                           "$WINDTUNNEL compare $DATA/unit.yaml b.yaml --json");
  ASSERT_EQ(f.exit_code, 0) << f.err;
  const json c = json::parse(f.out).at("comparisons").at(0);
  EXPECT_EQ(c.at("step_time_s"),
            json({{"a", 15.0}, {"b", 20.0}, {"difference", 5.0}, {"relative", 1.0 / 3.0}}));
  EXPECT_EQ(c.at("breakdown_s").at("compute").at("difference"), 4.0);
  EXPECT_EQ(c.at("breakdown_s").at("bubble").at("difference"), 1.0);
  EXPECT_EQ(c.at("cause"),
            "B's step takes 33.3 % longer: compute, mostly memory-bound kernels, "
            "grew by 4 s of the 5 s.");
}

TEST_F(Compare, OverALimitExitsWithOneAndSaysWhich) {
  const std::string edit = edited("unit", "s/F: \"1 s\"/F: \"2 s\"/", "b.yaml");
  const Finished over = shell(edit +
                              "$WINDTUNNEL compare $DATA/unit.yaml b.yaml "
                              "--max-step-error 33.3% --max-term-error '20 %'");
  EXPECT_EQ(over.exit_code, 1);
  expect_contains(over.out, "over       --max-step-error 33.3%: step_time 20 s against 15 s");
  expect_contains(over.out, "over       --max-term-error 20% (--term-floor 3%): compute +4 s");
  const Finished within =
      shell(edit + "$WINDTUNNEL compare $DATA/unit.yaml b.yaml --max-step-error 33.4%");
  EXPECT_EQ(within.exit_code, 0) << within.out;
  const Finished memory =
      shell(edit + "$WINDTUNNEL compare $DATA/unit.yaml b.yaml --exact-memory --json");
  EXPECT_EQ(memory.exit_code, 1);
  const json limits = json::parse(memory.out).at("comparisons").at(0).at("over_limits");
  EXPECT_EQ(limits,
            json::array({{{"limit", "--exact-memory"}, {"detail", "neither side states memory"}}}));
}

TEST_F(Compare, SetsAreMatchedByIdAndMissingPartnersNamed) {
  const std::string edit = edited("set", "s/fill-drain/other/", "b.yaml");
  const Finished text = shell(edit + "$WINDTUNNEL compare $DATA/set.yaml b.yaml");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  expect_contains(text.out, "A  one-f-one-b");
  expect_contains(text.out, "only in a  fill-drain\n");
  expect_contains(text.out, "only in b  other\n");
  const Finished limited =
      shell(edit + "$WINDTUNNEL compare $DATA/set.yaml b.yaml --max-step-error 1% --json");
  EXPECT_EQ(limited.exit_code, 1) << "what has no partner was not within the limit";
  const json j = json::parse(limited.out);
  EXPECT_EQ(j.at("comparisons").size(), 1U);
  EXPECT_EQ(j.at("only_in_a"), json({"fill-drain"}));
  EXPECT_EQ(j.at("only_in_b"), json({"other"}));
  const Finished one = shell(
      edit + "$WINDTUNNEL compare $DATA/set.yaml b.yaml --id one-f-one-b --max-step-error 1%");
  EXPECT_EQ(one.exit_code, 0) << one.out << one.err;
}

TEST_F(Compare, ARefusedScenarioIsNamedAndExitsWithTwo) {
  const Finished f = windtunnel("compare $DATA/with_refused.yaml $DATA/with_refused.yaml");
  EXPECT_EQ(f.exit_code, 2);
  expect_contains(f.out, "A  now");
  expect_contains(f.out, "refused in a  later\n");
  const Finished files = shell(
      "$WINDTUNNEL simulate $DATA/with_refused.yaml --json > a.json 2>/dev/null; "
      "$WINDTUNNEL compare a.json a.json");
  EXPECT_EQ(files.exit_code, 0) << files.err;
  expect_contains(files.out, "refused in b  later\n");
}

TEST_F(Compare, TheTraceHoldsBothSides) {
  const Finished f = shell(
      "$WINDTUNNEL simulate $DATA/unit.yaml --json --trace a_trace.json > a.json && "
      "$WINDTUNNEL compare a.json $DATA/unit.yaml --trace both.json --trace-a a_trace.json");
  ASSERT_EQ(f.exit_code, 0) << f.err;
  std::set<std::string> processes;
  const json trace = json::parse(read_file(folder / "work" / "both.json"));
  for (const json& e : trace.at("traceEvents")) {
    if (e.at("name") == "process_name") processes.insert(e.at("args").at("name"));
  }
  EXPECT_EQ(processes, (std::set<std::string>{"A stage 0", "A stage 1", "B stage 0", "B stage 1"}));
}

TEST_F(Compare, ATraceNeedsBothAndReplacesNoInput) {
  const std::string make =
      "$WINDTUNNEL simulate $DATA/unit.yaml --json --trace a_trace.json > a.json && "
      "$WINDTUNNEL compare a.json $DATA/unit.yaml ";
  const Finished none = shell(make + "--trace both.json");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.err,
            "a.json: error: holds no trace\n"
            "  hint: add --trace-a FILE, written by run or simulate --trace FILE\n");
  for (const char* target : {"a.json", "a_trace.json"}) {
    const Finished over = shell(make + "--trace-a a_trace.json --trace " + target);
    EXPECT_EQ(over.exit_code, 2);
    EXPECT_EQ(over.err, std::string(target) +
                            ": error: is an input: the trace would replace it\n"
                            "  hint: for example --trace trace.json\n");
  }
  const Finished set = windtunnel("compare $DATA/set.yaml $DATA/set.yaml --trace both.json");
  EXPECT_EQ(set.exit_code, 2);
  expect_contains(set.err, "a trace is of one\n  hint: name it with --id");
  EXPECT_FALSE(std::filesystem::exists(folder / "work" / "both.json"));
}

struct BadFile {
  const char* make;  // a shell command that writes bad.json
  const char* error;
};

TEST_F(Compare, BadFilesHaveOneMessageAndExitWithTwo) {
  const std::string step = "$WINDTUNNEL simulate $DATA/unit.yaml --json";
  const BadFile cases[] = {
      {"true", "bad.json: error: cannot read the file\n"},
      {"mkdir bad.json", "bad.json: error: is a folder, not a file\n"},
      {"mkfifo bad.json", "bad.json: error: is not a regular file\n"},
      {"truncate -s 17M bad.json", "bad.json: error: file over 16 MiB\n"},
      {"echo '{\"name\": \"x\"}' > bad.json",
       "bad.json:1:1: error: is no step: key 'kind' is missing\n"
       "  hint: such a file comes from: windtunnel simulate S.yaml --json\n"},
      {"echo 'id: a' > bad.json", "bad.json:1:1: error: not JSON at 'i'\n"},
      {"$WINDTUNNEL simulate $DATA/unit.yaml --json | head -n 20 > bad.json",
       "bad.json:21:0: error: not JSON: the file ends too early\n"},
      {"$WINDTUNNEL simulate $DATA/unit.yaml --json | sed 's/\"step_time_s\": 15.0/"
       "\"step_time_s\": \"15 s\"/' > bad.json",
       "bad.json:10:22: error: 'step_time_s' is text, and should be a number\n"},
      {"$WINDTUNNEL check $DATA/small.yaml --json > bad.json",
       "bad.json:1:1: error: is no step: key 'kind' is missing\n"
       "  hint: such a file comes from: windtunnel simulate S.yaml --json\n"},
      {"$WINDTUNNEL simulate $DATA/set.yaml --json > bad.json && "
       "sed -i 's/one-f-one-b/fill-drain/' bad.json",
       "error: id 'fill-drain' stands twice\n"},
  };
  for (const BadFile& bad : cases) {
    const Finished f = shell("rm -rf bad.json; " + std::string(bad.make) +
                             "; $WINDTUNNEL compare $DATA/unit.yaml bad.json");
    EXPECT_EQ(f.exit_code, 2) << bad.make;
    EXPECT_EQ(f.out, "") << bad.make;
    expect_contains(f.err, bad.error);
  }
}

TEST_F(Compare, SetsWithoutACommonIdAreBadInput) {
  const Finished f = shell(edited("set", "s/one-f-one-b/x/; s/fill-drain/y/", "b.yaml") +
                           "$WINDTUNNEL compare $DATA/set.yaml b.yaml");
  EXPECT_EQ(f.exit_code, 2);
  expect_contains(f.err, "b.yaml: error: has no step of ");
  expect_contains(f.err, "  hint: sets are matched by id; ids of A: one-f-one-b, fill-drain\n");
}

}  // namespace
}  // namespace windtunnel
