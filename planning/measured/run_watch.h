#pragma once
// What there is to say about the ranks of a run that did not end well.

#include <optional>
#include <string>

#include "program/program.h"
#include "runtime/launch/child_process.h"
#include "runtime/launch/status_board.h"

namespace windtunnel {

/// "rank 1 was killed by signal 9 in step 2, ...; rank 0 was in ...", from what the ranks wrote and
/// what the launcher said.
std::string failure_text(const Program& program, const StatusBoard& board, const ChildEnd& end,
                         const std::string& launcher_said);

/// The same for ranks of which none has finished an op for `seconds`.
std::string hang_text(const Program& program, const StatusBoard& board, double seconds);

/// The same of one rank of a world that others started, as the process that watches it knows it.
std::string joined_failure_text(const Program& program, const StatusBoard& board, int rank,
                                const ChildEnd& end, const std::string& said);
std::string joined_hang_text(const Program& program, const StatusBoard& board, int rank,
                             double seconds);

}  // namespace windtunnel
