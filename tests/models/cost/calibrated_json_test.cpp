// Is what is written what is read back, and is what is wrong in it refused with its line?

#include "models/cost/calibrated_json.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/diagnostics.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

Profile sample() {
  Profile p{.id = "a", .device = "cpu", .kind = "calibrated", .date = "2026-01-01", .stack = "b"};
  p.sources = {{"here", "measured here"}, {"there", "measured there"}};
  p.class_sigma[CostClass::gemm] = {.value = 0.03, .sigma = 0.1, .source = 1};
  p.memory.usable_bytes = {.value = 1e10};
  p.memory.context_bytes = {.value = 0.0};
  p.chip.tensor_flops[Dtype::fp32] = {.value = 3e10, .sigma = 0.05};
  p.host[HostItem::kernel_launch] = {.value = 1.2345678901234e-7, .sigma = 0.2};
  p.curves.push_back({.kind = CommKind::send_recv,
                      .ranks = 2,
                      .sigma = 0.1,
                      .points = {{4, 1e-6}, {1024, 2e-6}},
                      .noise = {{.sigma = 0.5, .early = 0.25}, {.sigma = 0.125, .early = 0.0625}}});
  Calibration c;
  c.measured[{.kernel = Kernel::gemm_wgrad,
              .in = Dtype::fp32,
              .out = Dtype::fp32,
              .attr = kAccumulate | kHasBias,
              .dims = {1, 2, 3}}] = {.seconds = 1.0 / 3.0, .sigma = 0.01, .samples = 7};
  c.kernels[{Kernel::zero, Dtype::none}] = {.fixed_s = 1e-7,
                                            .seconds_per_byte = 1.0 / 7e10,
                                            .error = 0.04,
                                            .p90 = 0.1,
                                            .flops = {},
                                            .bytes = {10, 1000},
                                            .samples = 5};
  c.overlap = OverlapFigures{.compute_beside_collective = {{KernelClass::gemm, 0.5}},
                             .collective_beside_compute = 0.25};
  c.storage = StorageFigures{.write = {.value = 1e9}, .read = {.value = 2e9}};
  c.anchors = {.flops_per_s = 1e10, .bytes_per_s = 2e10};
  c.quality = {{.name = "gemm", .mape = 0.05, .p90 = 0.1, .samples = 9, .held_out = 0}};
  c.extrapolated = {"nothing"};
  c.slow = {"a node"};
  c.fingerprint = {{"cpu", "some"}};
  p.calibration = c;
  return p;
}

/// What the loader makes of a text; throws InputError.
Profile load(const std::string& text) {
  const std::filesystem::path folder = make_temp_folder();
  const std::string path = (folder / "profile_under_test.json").string();
  std::ofstream(path) << text;
  try {
    Profile p = load_profile(path);
    std::filesystem::remove_all(folder);
    return p;
  } catch (...) {
    std::filesystem::remove_all(folder);
    throw;
  }
}

TEST(CalibratedJson, ReadsBackWhatWasWritten) {
  const std::string text = calibrated_profile_text(sample());
  const Profile p = load(text);
  EXPECT_EQ(calibrated_profile_text(p), text);
  ASSERT_TRUE(p.calibration.has_value());
  const Calibration& c = *p.calibration;
  const auto& [shape, cost] = *c.measured.begin();
  EXPECT_EQ(shape, sample().calibration->measured.begin()->first);
  EXPECT_EQ(cost.seconds, 1.0 / 3.0);
  EXPECT_EQ(c.kernels.at({Kernel::zero, Dtype::none}).seconds_per_byte, 1.0 / 7e10);
  EXPECT_EQ(c.overlap->compute_beside_collective.at(KernelClass::gemm), 0.5);
  EXPECT_EQ(c.storage->read.value, 2e9);
  EXPECT_EQ(p.class_sigma.at(CostClass::gemm).source, 1);
  EXPECT_EQ(p.sources.at(c.extrapolation_source).key, "extrapolated");
  EXPECT_EQ(p.curves.front().points.at(1).second, 2e-6);
  EXPECT_EQ(c.slow, std::vector<std::string>{"a node"});
  EXPECT_EQ(p.curves.front().noise.at(1).sigma, 0.125);
  EXPECT_EQ(p.curves.front().noise.at(0).early, 0.25);
}

std::string problems_with(const std::string& from, const std::string& to) {
  std::string text = calibrated_profile_text(sample());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  try {
    load(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(CalibratedJson, RefusesWhatIsWrong) {
  struct Case {
    const char *from, *to, *said;
  };
  const Case cases[] = {
      {"\"gemm_wgrad\"", "\"gemm_wgard\"", "unknown kernel 'gemm_wgard'"},
      {"\"accumulate\"", "\"acumulate\"", "unknown attribute of a shape"},
      {"\"collective_beside_compute\": 0.25", "\"collective_beside_compute\": 9", "at most 8"},
      {"\"flops_per_s\": 10000000000.0", "\"flops_per_s\": 0", "over 0"},
      {"\"samples\": 7", "\"samples\": 7.5", "whole number"},
      {"\"held_out\": 0", "\"held_out\": 1e17", "whole number"},
      {"\"extrapolated\"", "\"extrapolate\"", "did you mean 'extrapolated'"},
      {"\"network\": \"none\"", "\"network\": \"none\", \"nic_bandwidth\": 1, \"nic\": 2",
       "unknown key 'nic'"},
      {"\"nodes\": 1", "\"nodes\": 2", "names its network"},
      {"\"points_us\": [", "\"points_us\": [[1, 1],", "every point has its noise"},
      {"\"ranks\": 2", "\"ranks\": 1", "two ranks or more"},
      {"\"sigma\": 0.1,\n   \"source\": \"here\",\n   \"points_us\"",
       "\"sigma\": 4,\n   \"source\": \"here\",\n   \"points_us\"", "at most 3"},
      {"\"noise\": 0.0", "\"noise\": 101", "at most 100"},
      {"\"format\": \"windtunnel profile\"", "\"format\": \"x\"", "not a profile"},
      {"0.0625", "0.0625, 1", "the noise of a point is"},
      {"0.25\n    ],", "1.25\n    ],", "at most 1"},
      {"\"usable_bytes\"", "\"usable_byte\"", "missing key 'usable_bytes'"},
  };
  for (const Case& c : cases) {
    const std::string said = problems_with(c.from, c.to);
    EXPECT_NE(said.find(c.said), std::string::npos) << c.from << " -> " << c.to << ": " << said;
  }
}

TEST(CalibratedJson, APublicProfileStillNeedsItsSections) {
  const std::string said = problems_with("\"kind\": \"calibrated\"", "\"kind\": \"public\"");
  EXPECT_NE(said.find("missing key 'chip'"), std::string::npos) << said;
}

}  // namespace
}  // namespace windtunnel
