// Do roles that share a communicator issue the same collectives in the same order?
//
// The members of a communicator that does not span the pipeline run one role: they agree by
// construction.

#include <fmt/format.h>

#include "program/op_names.h"
#include "program/verify_checks.h"

namespace windtunnel {

namespace {

struct Issued {
  std::uint32_t call = 0, op = 0;
};

using Sequences = std::vector<std::vector<Issued>>;  // by role, of one communicator

bool is_member(const Comm& comm, std::size_t role, std::size_t roles) {
  return comm.has_stage(static_cast<int>(role), static_cast<int>(roles));
}

const char* difference(const Op& a, const Op& b) {
  if (a.collective != b.collective) return "another collective";
  if (a.elements != b.elements) return "another size";
  if (a.dtype != b.dtype) return "another type";
  if (a.reduce != b.reduce) return "another reduction";
  if (a.when != b.when) return "another condition";
  return nullptr;
}

std::vector<Sequences> sequences_of(const ProgramFacts& facts) {
  const Program& p = facts.program;
  std::vector<Sequences> by_comm(p.comms.size(), Sequences(p.roles.size()));
  for (std::size_t r = 0; r < p.roles.size(); ++r) {
    const std::vector<Call>& calls = p.roles[r].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const SegmentFacts& f = facts.segments[calls[i].segment];
      if (f.shared.begin == f.shared.end) continue;
      for (const std::uint32_t op : facts.shared_of(f))
        by_comm[p.ops[op].comm][r].push_back({static_cast<std::uint32_t>(i), op});
    }
  }
  return by_comm;
}

void compare(const Program& p, const Comm& comm, const Sequences& sequences, Violations& v) {
  std::size_t first = p.roles.size();  // the member the others are compared with
  for (std::size_t r = 0; r < p.roles.size(); ++r) {
    if (!is_member(comm, r, p.roles.size())) {
      if (!sequences[r].empty())
        v.add(fmt::format("{} is on a communicator its role is no member of",
                          place_text(p, {r, sequences[r][0].call, sequences[r][0].op})));
      continue;
    }
    if (first == p.roles.size()) first = r;
    if (sequences[r].size() != sequences[first].size())
      v.add(fmt::format("role {} issues {} collectives on {}, role {} issues {}", first,
                        sequences[first].size(), comm.name, r, sequences[r].size()));
    const std::size_t n = std::min(sequences[first].size(), sequences[r].size());
    for (std::size_t i = 0; i < n; ++i) {
      const Issued &a = sequences[first][i], &b = sequences[r][i];
      const char* why = difference(p.ops[a.op], p.ops[b.op]);
      if (why != nullptr)
        v.add(fmt::format("{} meets {}: {}", place_text(p, {first, a.call, a.op}), why,
                          place_text(p, {r, b.call, b.op})));
    }
  }
}

}  // namespace

std::vector<std::string> check_collectives(const ProgramFacts& facts) {
  Violations v;
  const std::vector<Sequences> by_comm = sequences_of(facts);
  for (std::size_t c = 0; c < by_comm.size(); ++c) {
    if (spans_roles(facts.program.comms[c]))
      compare(facts.program, facts.program.comms[c], by_comm[c], v);
  }
  return v.take();
}

}  // namespace windtunnel
