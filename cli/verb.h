#pragma once
// The verbs of `windtunnel`: rows of one table.

#include <algorithm>
#include <span>

#include "cli/options.h"
#include "cli/output.h"

namespace windtunnel {

struct Verb {
  const char* name;
  const char* doc;      // one line: the question it answers
  const char* details;  // under its --help: what it prints, what its exit status means
  std::span<const Option> options;
  /// The exit status. Throws InputError.
  int (*run)(const Options& options, Output& output);

  bool has(Option option) const {
    return std::find(options.begin(), options.end(), option) != options.end();
  }
};

std::span<const Verb> verb_table();

// One file each.
int run_calibrate(const Options& options, Output& output);
int run_check(const Options& options, Output& output);
int run_compare(const Options& options, Output& output);
int run_plan(const Options& options, Output& output);
int run_rehearse(const Options& options, Output& output);
int run_run(const Options& options, Output& output);
int run_simulate(const Options& options, Output& output);
int run_validate(const Options& options, Output& output);

}  // namespace windtunnel
