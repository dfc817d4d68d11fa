#pragma once
// Builds a breakdown from rows of a time table, whoever kept it.

#include <map>
#include <string>

#include "program/program.h"
#include "report/step_report.h"
#include "sim/engine/step_timing.h"

namespace windtunnel {

class BreakdownRows {
 public:
  explicit BreakdownRows(const Program& program) : program_(program) {}

  void add(const TimeCategory& row, double seconds);
  Breakdown take();

 private:
  void add_compute(const TimeCategory& row, double seconds);
  double& exposed(std::uint32_t comm);

  const Program& program_;
  Breakdown sum_;
  std::map<std::string, double> modules_;
};

}  // namespace windtunnel
