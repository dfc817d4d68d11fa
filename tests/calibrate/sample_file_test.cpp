// Does a calibration go on where it stopped, and is a torn file told from an unfinished line?

#include "calibrate/sample_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/diagnostics.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

const AnchorRates kBefore{.flops_per_s = 1e10, .bytes_per_s = 2e10};
const AnchorRates kAfter{.flops_per_s = 1.1e10, .bytes_per_s = 1.9e10};

Sample kernel(std::int64_t m) {
  return {.kind = SampleKind::kernel,
          .shape = {.kernel = Kernel::gemm_wgrad,
                    .in = Dtype::fp32,
                    .out = Dtype::fp32,
                    .attr = kAccumulate | kHasBias,
                    .dims = {m, 8, 4},
                    .bytes_read = 100},
          .seconds = 1.0 / 3e6,
          .sigma = 0.02,
          .runs = 17,
          .before = kBefore,
          .after = kAfter};
}

std::vector<Sample> one_of_each() {
  std::vector<Sample> all = {kernel(16)};
  for (const SampleKind kind : {SampleKind::launch, SampleKind::synchronize}) {
    all.push_back({.kind = kind, .seconds = 1e-7, .before = kBefore, .after = kAfter});
  }
  for (const SampleKind kind : {SampleKind::storage_write, SampleKind::storage_read}) {
    all.push_back(
        {.kind = kind, .bytes = 1 << 20, .seconds = 0.1, .before = kBefore, .after = kAfter});
  }
  Sample transfer = kernel(4);
  transfer.kind = SampleKind::transfer;
  transfer.shape = {};
  transfer.transfer = CommKind::reduce_scatter;
  transfer.ranks = 4;
  transfer.bytes = 4096;
  transfer.early = 0.125;
  all.push_back(transfer);
  Sample overlap = kernel(32);
  overlap.kind = SampleKind::overlap;
  overlap.transfer = CommKind::all_reduce;
  overlap.ranks = 2;
  overlap.bytes = 64;
  overlap.kernel_theft = 0.25;
  overlap.transfer_theft = 1.5;
  all.push_back(overlap);
  return all;
}

class SampleFiles : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = make_temp_folder(); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "samples").string(); }
  std::string text() const {
    std::ifstream file(path());
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
  void write(const std::string& content) const { std::ofstream(path()) << content; }
  std::string error() const {
    try {
      SampleFile file(path(), "this machine");
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  }

  std::filesystem::path folder_;
};

TEST_F(SampleFiles, HoldWhatWasAdded) {
  {
    SampleFile file(path(), "this machine");
    for (const Sample& s : one_of_each()) file.add(s);
    for (const Sample& s : one_of_each()) file.add(s);  // already there
  }
  const SampleFile again(path(), "this machine");
  ASSERT_EQ(again.samples().size(), one_of_each().size());
  for (std::size_t i = 0; i < one_of_each().size(); ++i) {
    EXPECT_EQ(sample_text(again.samples()[i]), sample_text(one_of_each()[i]));
    EXPECT_TRUE(again.holds(one_of_each()[i]));
  }
  EXPECT_EQ(again.samples()[0].seconds, 1.0 / 3e6);
  EXPECT_FALSE(again.holds(kernel(17)));
}

TEST_F(SampleFiles, EveryKindHasItsKey) {
  std::set<std::string> keys;
  for (const Sample& s : one_of_each()) keys.insert(key_of(s));
  EXPECT_EQ(keys.size(), one_of_each().size());
  Sample other = kernel(16);
  other.shape.attr = kAccumulate;
  EXPECT_NE(key_of(other), key_of(kernel(16)));
  other = kernel(16);
  other.seconds = 5.0;
  EXPECT_EQ(key_of(other), key_of(kernel(16)));
}

TEST_F(SampleFiles, WithoutAPathAreKeptInMemory) {
  SampleFile file("", "this machine");
  file.add(kernel(1));
  EXPECT_TRUE(file.holds(kernel(1)));
}

TEST_F(SampleFiles, AnUnfinishedLastLineIsDropped) {
  {
    SampleFile file(path(), "this machine");
    file.add(kernel(1));
    file.add(kernel(2));
  }
  const std::string whole = text();
  for (const std::size_t cut : {std::size_t{1}, std::size_t{40}}) {
    write(whole.substr(0, whole.size() - cut));
    SampleFile file(path(), "this machine");
    EXPECT_EQ(file.samples().size(), 1U) << cut;
    file.add(kernel(2));
    EXPECT_EQ(text(), whole) << cut;
  }
  write(whole.substr(0, 10));  // the very first line
  EXPECT_EQ(SampleFile(path(), "this machine").samples().size(), 0U);
}

TEST_F(SampleFiles, AnythingElseThatIsTornIsOneError) {
  {
    SampleFile file(path(), "this machine");
    file.add(kernel(1));
    file.add(kernel(2));
  }
  const std::string whole = text();
  const std::size_t second = whole.find('\n') + 1;
  write(whole.substr(0, second) + whole.substr(second + 30));
  EXPECT_NE(error().find("samples:2"), std::string::npos) << error();
  EXPECT_NE(error().find("not a sample of a calibration"), std::string::npos);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string edited = whole;
    edited.replace(edited.find(from), from.size(), to);
    write(edited);
    return error();
  };
  EXPECT_NE(with("\"gemm_wgrad\"", "\"gemm\"").find("unknown kernel"), std::string::npos);
  EXPECT_NE(with("\"runs\":17", "\"runs\":0").find("runs out of range"), std::string::npos);
  EXPECT_NE(with("\"runs\":17", "\"runs\":1e300").find("whole number"), std::string::npos);
  EXPECT_NE(with("\"accumulate\"", "3").find("unknown attribute"), std::string::npos);
  EXPECT_NE(with("\"sigma\":0.02", "\"sigma\":-1").find("out of range"), std::string::npos);
  EXPECT_NE(with("\"before\":[1", "\"before\":[-1").find("rates of a processor"),
            std::string::npos);
  EXPECT_NE(with("\"before\":[1", "\"before\":[1e-300, 1], \"b\":[1").find("rates of a processor"),
            std::string::npos);
  EXPECT_NE(with("\"sigma\":0.02", "\"sigma\":4").find("out of range"), std::string::npos);
  EXPECT_NE(with("\"runs\":17", "\"runs\":17,\"seconds\":1e300").find("out of range"),
            std::string::npos);
  EXPECT_NE(with("\"kind\":\"kernel\"", "\"kind\":\"kernels\"").find("unknown name"),
            std::string::npos);
}

TEST_F(SampleFiles, OfAnotherMachineAreRefused) {
  { SampleFile file(path(), "another machine"); }
  EXPECT_NE(error().find("of another machine or program: another machine"), std::string::npos)
      << error();
  write("{\"a\": 1}\n");
  EXPECT_NE(error().find("not a file of samples"), std::string::npos);
  write("id: a scenario\nmodel: x");
  EXPECT_NE(error().find("not a file of samples"), std::string::npos);
  EXPECT_EQ(text(), "id: a scenario\nmodel: x") << "what is not ours is left alone";
  write("id: a scenario");
  EXPECT_NE(error().find("not a file of samples"), std::string::npos);
  EXPECT_EQ(text(), "id: a scenario") << "what is not ours is left alone";
}

TEST_F(SampleFiles, APlaceThatCannotBeWrittenIsAnError) {
  EXPECT_THROW(SampleFile("/nonexistent/samples", "m"), InputError);
  EXPECT_THROW(SampleFile(folder_.string(), "m"), InputError);
}

}  // namespace
}  // namespace windtunnel
