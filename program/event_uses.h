#pragma once
// Who records and who waits for each event of a role.

#include <cstdint>
#include <vector>

#include "program/event_registers.h"
#include "program/verify_facts.h"

namespace windtunnel {

bool names_event(const Op& op);

/// Whether the op ends only when another role has come to it.
bool meets_another_role(const Program& program, const Op& op);

class EventUses {
 public:
  /// Complexity: linear in the ops of the role's call variants.
  EventUses(const ProgramFacts& facts, std::size_t role);

  /// Whether a dry run may leave the event out: it orders only the compute stream and streams that
  /// wait for nothing but it, within one segment.
  bool is_idle(std::uint32_t event) const;

  /// Whether the event is a point of one stream that another waits for at once: every record is
  /// followed by its one wait.
  bool only_joins(std::uint32_t event) const { return uses_[event].only_joins; }

  RegisterNeed need(std::uint32_t event) const;

 private:
  struct Use {
    unsigned recorded_on = 0, waited_by = 0;  // stream bits, and one for the host
    bool within_segments = true;              // every wait has its record before it in its segment
    bool only_joins = true;                   // ... and stands right behind it
  };

  void scan(const CallVariant& variant);
  void find_followers();

  const ProgramFacts& facts_;
  std::size_t role_;
  std::vector<Use> uses_;
  std::vector<std::uint32_t> recorded_;     // by event: pass of its last record
  std::vector<std::uint32_t> recorded_at_;  // by event: its last record
  std::uint32_t pass_ = 0;
  unsigned blocking_ = 0;   // streams that meet other roles
  unsigned followers_ = 0;  // the compute stream and streams that only wait for it
};

}  // namespace windtunnel
