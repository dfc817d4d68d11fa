// Do profiles load, and are wrong ones refused with their line?

#include "models/cost/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "core/data_dir.h"
#include "core/diagnostics.h"
#include "tests/temp_folder.h"

namespace windtunnel {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string public_path(const std::string& device) {
  return data_dir() + "/scenarios/profiles/" + device + ".profile.json";
}

/// The problems of a profile text, rendered; empty when it loads.
std::string problems_of(const std::string& text) {
  const std::filesystem::path folder = make_temp_folder();
  const std::string path = (folder / "profile_under_test.json").string();
  std::ofstream(path) << text;
  std::string result;
  try {
    load_profile(path);
  } catch (const InputError& error) {
    result = error.what();
  }
  std::filesystem::remove_all(folder);
  return result;
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = read_file(public_path("a100-sxm-80gb"));
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

TEST(Profile, EveryPublicDeviceLoads) {
  EXPECT_GE(public_profile_devices().size(), 16U);
  for (const std::string& device : public_profile_devices()) {
    const Profile p = load_public_profile(device);
    EXPECT_EQ(p.device, device);
    // AMD's runtime keeps nothing of what its driver shows.
    EXPECT_LE(p.memory.usable_bytes.value, p.memory.driver_bytes.value) << device;
    EXPECT_GT(p.memory.usable_bytes.value, 0.9 * p.memory.driver_bytes.value) << device;
    for (const CollectiveCurve& c : p.curves) {
      for (std::size_t i = 1; i < c.points.size(); ++i) {
        EXPECT_GE(c.points[i].second, c.points[i - 1].second) << device << " curves are monotone";
      }
    }
  }
}

TEST(Profile, UnknownDeviceNamesThoseThatExist) {
  try {
    load_public_profile("h900");
    FAIL() << "loaded a device that does not exist";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("a100-sxm-80gb"), std::string::npos) << error.what();
  }
}

TEST(Profile, RefusesAnUnknownKeyWithTheNearest) {
  const std::string said = problems_of(with("\"memory_efficiency\"", "\"memory_eficiency\""));
  EXPECT_NE(said.find("unknown key 'memory_eficiency'"), std::string::npos) << said;
  EXPECT_NE(said.find("did you mean 'memory_efficiency'"), std::string::npos) << said;
  EXPECT_NE(said.find("missing key 'memory_efficiency'"), std::string::npos) << said;
}

TEST(Profile, NamesTheLine) {
  const std::string text = with("\"generation\": \"ampere\"", "\"generation\": 3");
  const std::string_view before = std::string_view(text).substr(0, text.find("\"generation\""));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::string said = problems_of(text);
  EXPECT_NE(said.find("profile_under_test.json:" + std::to_string(line) + ":"), std::string::npos)
      << said;
}

TEST(Profile, RefusesOtherVersionsAndSources) {
  EXPECT_NE(problems_of(with("\"version\": 1", "\"version\": 2")).find("version"),
            std::string::npos);
  const std::string said = problems_of(with("\"source\": \"vendor\"", "\"source\": \"rumour\""));
  EXPECT_NE(said.find("source 'rumour' is not listed"), std::string::npos) << said;
}

TEST(Profile, RefusesNumbersOutOfRange) {
  EXPECT_NE(problems_of(with("\"value\": 108", "\"value\": -108")).find("over 0"),
            std::string::npos);
  EXPECT_NE(problems_of(with("\"value\": 108", "\"value\": 1e300")).find("over 1e18"),
            std::string::npos);
  EXPECT_NE(problems_of(with("\"ranks\": 8", "\"ranks\": 7.5")).find("whole number"),
            std::string::npos);
  EXPECT_NE(problems_of(with("\"ranks\": 8", "\"ranks\": 1e300")).find("over 1e18"),
            std::string::npos);
  EXPECT_NE(problems_of(with("\"value\": 108", "\"value\": 1e999")).find("out of range"),
            std::string::npos);
}

TEST(Profile, RefusesWhatIsNotJson) {
  EXPECT_NE(problems_of("").find("not JSON"), std::string::npos);
  EXPECT_NE(problems_of("{\"format\": ").find("not JSON"), std::string::npos);
  EXPECT_NE(problems_of("{\"a\": 1, \"a\": 2}").find("stands twice"), std::string::npos);
  EXPECT_NE(problems_of(std::string(20000, '[')).find("nested deeper"), std::string::npos);
  EXPECT_NE(problems_of("[]").find("a profile is a map"), std::string::npos);
  EXPECT_NE(problems_of(std::string(17U << 20U, ' ')).find("16 MiB"), std::string::npos);
}

}  // namespace
}  // namespace windtunnel
