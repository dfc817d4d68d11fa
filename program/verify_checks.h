#pragma once
// The checks of a program, one row each: `find_violations` runs them in this order.
//
// Before them stands `find_bad_indices`: they rely on every index being in range, and run only when
// it finds nothing.

#include <span>
#include <string>
#include <vector>

#include "program/verify_facts.h"

namespace windtunnel {

struct CheckRow {
  const char* name;
  const char* doc;
  std::vector<std::string> (*find)(const ProgramFacts&);
};

std::span<const CheckRow> check_table();

/// Violations of indices that point outside their tables; everything else assumes there are none.
std::vector<std::string> find_bad_indices(const Program& program);

std::vector<std::string> check_operands(const ProgramFacts& facts);
std::vector<std::string> check_calls(const ProgramFacts& facts);
std::vector<std::string> check_transfers(const ProgramFacts& facts);
std::vector<std::string> check_collectives(const ProgramFacts& facts);
std::vector<std::string> check_views(const ProgramFacts& facts);
std::vector<std::string> check_memory(const ProgramFacts& facts);
std::vector<std::string> check_gradients(const ProgramFacts& facts);
/// The part of it that is about gradients cut to shards as they are made.
void check_scattered_gradients(const ProgramFacts& facts, std::size_t role, Violations& violations);
std::vector<std::string> check_copies(const ProgramFacts& facts);
std::vector<std::string> check_places(const ProgramFacts& facts);
std::vector<std::string> check_progress(const ProgramFacts& facts);
std::vector<std::string> check_groups(const ProgramFacts& facts);
std::vector<std::string> check_hazards(const ProgramFacts& facts);

}  // namespace windtunnel
