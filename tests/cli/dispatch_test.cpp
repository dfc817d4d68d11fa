// What a verb throws becomes a message and an exit status.

#include <gtest/gtest.h>

#include <new>

#include "cli/windtunnel.h"
#include "core/check.h"
#include "core/diagnostics.h"

namespace windtunnel {
namespace {

int run_verb(int (*verb)(const Options&, Output&)) {
  const Verb verbs[] = {{"try", "a verb", "", {}, verb}};
  const char* const argv[] = {"windtunnel", "try"};
  return run(verbs, 2, argv);
}

TEST(Dispatch, TheVerbsStatusIsTheProgramsStatus) {
  EXPECT_EQ(run_verb([](const Options&, Output&) { return 4; }), 4);
}

TEST(Dispatch, AnInputErrorIsTwo) {
  testing::internal::CaptureStderr();
  const int status = run_verb([](const Options&, Output&) -> int {
    throw InputError({{.position = {.file = "a.yaml"}, .message = "no", .hint = "h"}});
  });
  EXPECT_EQ(status, 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "a.yaml: error: no\n  hint: h\n");
}

TEST(Dispatch, ABugOfOursIsSeventyAndAsksForAReport) {
  testing::internal::CaptureStderr();
  const int status = run_verb([](const Options&, Output&) -> int {
    CHECK(1 + 1 == 3, "sums");
    return 0;
  });
  EXPECT_EQ(status, 70);
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_NE(err.find("internal error: "), std::string::npos) << err;
  EXPECT_NE(err.find("sums"), std::string::npos) << err;
  EXPECT_NE(err.find("please report it"), std::string::npos) << err;
}

TEST(Dispatch, AnyOtherExceptionIsABugToo) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_verb([](const Options&, Output&) -> int { throw std::out_of_range("at"); }), 70);
  testing::internal::GetCapturedStderr();
}

TEST(Dispatch, TooLittleMemoryIsThree) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_verb([](const Options&, Output&) -> int { throw std::bad_alloc(); }), 3);
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace windtunnel
