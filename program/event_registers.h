#pragma once
// Event registers of a role, numbered: one for a static event, one per (chunk, micro-batch) that
// names it for an event of a frame.

#include <cstdint>
#include <vector>

#include "program/verify_facts.h"

namespace windtunnel {

/// Where the registers of one event are.
struct EventPlace {
  std::uint32_t first = 0;
  std::uint32_t per_chunk = 0;  // registers between two chunks; 0 when one chunk names the event
  std::uint32_t per_batch = 0;  // registers between two micro-batches; 0 for a static event

  std::uint32_t of(const Call& call) const {
    return per_batch == 0 ? first
                          : first + static_cast<std::uint32_t>(call.chunk) * per_chunk +
                                static_cast<std::uint32_t>(call.micro_batch) * per_batch;
  }
};

struct EventRegisters {
  std::vector<EventPlace> places;  // by event
  std::uint32_t count = 0;
};

/// What an event needs. One register does for an event of a frame, too, when every wait has its
/// record before it in its own segment.
enum class RegisterNeed : std::uint8_t { none, one, per_frame };

/// `needs` has an entry per event of the role.
/// Precondition: events of a frame are named by calls that have one (`find_bad_indices`).
EventRegisters number_registers(const ProgramFacts& facts, std::size_t role,
                                const std::vector<RegisterNeed>& needs);

}  // namespace windtunnel
