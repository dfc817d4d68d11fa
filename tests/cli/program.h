#pragma once
// Runs the built program as a user does, in a folder of its own.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace windtunnel {

struct Finished {
  int exit_code = -1;  // of the shell's last command; -1: ended by a signal
  std::string out, err;
};

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// `windtunnel ARGUMENTS` through a shell: quoting, pipes and redirections work. Scenarios of
  /// tests/cli/data are at $DATA, the test's folder is the working directory.
  Finished windtunnel(const std::string& arguments) const;

  /// Any shell command; the program is $WINDTUNNEL.
  Finished shell(const std::string& command) const;

  std::string write(const std::string& name, const std::string& text) const;

  std::filesystem::path folder;
};

std::string read_file(const std::filesystem::path& path);

/// Fails when `text` does not contain `part`.
void expect_contains(const std::string& text, const std::string& part);

}  // namespace windtunnel
