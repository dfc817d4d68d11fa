#pragma once
// Mistakes planted in programs that are right, each of which a check must catch.
//
// A row names the mistake, the plan it is planted in and the check that catches it. The list is
// that of the reference on proofs of parallel plans, as far as its parallelisms are built, and the
// mistakes that asynchronous execution adds.

#include <span>
#include <string>

#include "program/program.h"
#include "runtime/execution.h"
#include "tests/proof/toy_scenarios.h"

namespace windtunnel::proof {

/// In the order they are run; later ones need the earlier ones to let the program through.
enum class Check : std::uint8_t {
  verify,     // structure: find_violations
  execution,  // the interpreter refuses to run it: memory, messages, races of streams
  field,      // differs from one device in the field
  fp64,       // differs from one device in fp64
};
const char* name_of(Check check);

struct Mutation {
  const char* name;
  const char* plan;  // a row of plan_cases()
  Check caught_by;
  void (*edit)(Program&);  // null: the record is edited instead
  /// For mistakes of an executor rather than of a program: changes what the plan's execution gave.
  void (*edit_record)(const Program&, ExecutionRecord&) = nullptr;
};

std::span<const Mutation> mutations();

/// Every check that notices.
std::vector<Check> caught(const Mutation& mutation);

}  // namespace windtunnel::proof
