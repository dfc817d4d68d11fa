#pragma once
// Collects one role's trace records during the sweep; transfers are filled in at the end, when
// their times are known.

#include <span>
#include <vector>

#include "program/trace.h"
#include "sim/engine/completion.h"
#include "sim/engine/instruction.h"

namespace windtunnel {

class TraceRecorder {
 public:
  TraceRecorder(int role, int lanes) : role_(role), lanes_(lanes) {}

  struct Times {
    const Picoseconds* issue;  // [lane]
    const Picoseconds* start;
    const Picoseconds* end;
  };
  void record(std::uint32_t call, const Instruction& instruction, Stream stream,
              const Times& times);
  /// A transfer or collective whose times may not be known yet; they are read by `finish`.
  void record_later(std::uint32_t call, const Instruction& instruction, const Picoseconds* issue,
                    const CompletionRef& completion);

 private:
  friend Trace join_traces(std::span<TraceRecorder> roles);

  struct Open {
    std::size_t first = 0;  // record of lane 0
    bool sends = false;
    CompletionRef completion;
  };
  int role_;
  int lanes_;
  std::vector<TraceRecord> records_;
  std::vector<Open> open_;
};

/// One trace of all roles, in their order. Precondition: every completion is known.
Trace join_traces(std::span<TraceRecorder> roles);

}  // namespace windtunnel
