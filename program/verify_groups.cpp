// Is the memory of a group of transfers theirs until the group has ended?

#include "program/verify_checks.h"

namespace windtunnel {

namespace {

/// Walks a role's calls. A group begins with a message that is not marked `grouped` and goes on as
/// long as only memory ops stand between it and messages that are; it may go on in the next call.
class Groups {
 public:
  Groups(const ProgramFacts& facts, std::size_t role)
      : facts_(facts), program_(facts.program), role_(role) {}

  void run(Violations& violations) {
    const std::vector<Call>& calls = program_.roles[role_].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const OpRange range = facts_.segments[calls[i].segment].transfers;
      if (range.begin == range.end) {
        end();
        continue;
      }
      const Segment& s = program_.segments[calls[i].segment];
      for (std::uint32_t op = s.op_begin; op < s.op_end; ++op) {
        if (!visit(program_.ops[op])) continue;
        violations.add(place_text(program_, {role_, i, op}) +
                       ": memory given back before it, while the group still uses it, may be this "
                       "transfer's");
        end();
      }
    }
  }

 private:
  void end() { open_ = given_back_ = taken_again_ = false; }

  /// Whether the op is a transfer of a group whose memory was handed on.
  bool visit(const Op& op) {
    if (is_message(op.kind)) {
      if (!op.grouped) {
        end();
        open_ = true;
      }
      return open_ && taken_again_;
    }
    if (op.kind == OpKind::free) {
      given_back_ = open_;
    } else if (op.kind == OpKind::alloc) {
      taken_again_ = given_back_;
    } else {
      end();
    }
    return false;
  }

  const ProgramFacts& facts_;
  const Program& program_;
  std::size_t role_;
  bool open_ = false, given_back_ = false, taken_again_ = false;
};

}  // namespace

std::vector<std::string> check_groups(const ProgramFacts& facts) {
  Violations violations;
  for (std::size_t r = 0; r < facts.program.roles.size(); ++r) Groups(facts, r).run(violations);
  return violations.take();
}

}  // namespace windtunnel
