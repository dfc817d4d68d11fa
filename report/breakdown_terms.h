#pragma once
// The terms of a breakdown as rows of one table: what reads, prints, sums or compares breakdowns
// goes through it, so that none leaves a term out.

#include <span>

#include "report/step_report.h"

namespace windtunnel {

struct BreakdownTerm {
  const char* group;  // the JSON object that holds the key; empty: the breakdown's own
  const char* key;
  const char* label;          // of a line in a table
  const char* in_words;       // in a sentence
  bool part;                  // of `compute`; the terms that are no part sum to the step time
  double Breakdown::*field;   // or:
  double ExposedComm::*axis;  // of `exposed_comm`
};

/// In the order of the report; parts follow `compute`.
std::span<const BreakdownTerm> breakdown_terms();

double value_of(const BreakdownTerm& term, const Breakdown& breakdown);
double& value_of(const BreakdownTerm& term, Breakdown& breakdown);

}  // namespace windtunnel
