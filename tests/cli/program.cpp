#include "tests/cli/program.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/temp_folder.h"

namespace windtunnel {

namespace fs = std::filesystem;

namespace {

std::string quoted(const std::string& text) {
  return "'" + text + "'";  // no path of a build holds a quote
}

}  // namespace

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "`" << part << "` is not in:\n" << text;
}

void ProgramTest::SetUp() {
  folder = make_temp_folder();
  fs::create_directories(folder / "work");
}

void ProgramTest::TearDown() {
  fs::remove_all(folder);
}

Finished ProgramTest::windtunnel(const std::string& arguments) const {
  return shell("\"$WINDTUNNEL\" " + arguments);
}

Finished ProgramTest::shell(const std::string& command) const {
  const fs::path out = folder / "out", err = folder / "err", script = folder / "script";
  std::ofstream(script) << "cd " << quoted((folder / "work").string()) << "\n"
                        << "WINDTUNNEL=" << quoted(WINDTUNNEL_PROGRAM) << "\n"
                        << "DATA=" << quoted(std::string(WINDTUNNEL_SOURCE_DIR) + "/tests/cli/data")
                        << "\n"
                        << command << "\n";
  const std::string line = "bash " + quoted(script.string()) + " </dev/null >" +
                           quoted(out.string()) + " 2>" + quoted(err.string());
  const int status = std::system(line.c_str());
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .out = read_file(out),
          .err = read_file(err)};
}

std::string ProgramTest::write(const std::string& name, const std::string& text) const {
  const fs::path path = folder / "work" / name;
  std::ofstream(path) << text;
  return path.string();
}

}  // namespace windtunnel
