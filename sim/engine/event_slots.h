#pragma once
// Where the completions behind a role's event registers are kept.
//
// A register with one instance per frame would take micro-batches times its size for values that
// live for a moment. So: a record that only the next wait binds to becomes a `follow` without any
// register; a register that every segment records before it waits needs one slot, whatever the
// frame; the others get a slot per micro-batch that is alive at a time in the chunks that use them.

#include "program/program.h"
#include "sim/engine/instruction.h"

namespace windtunnel {

/// Replaces records and waits that are hand-overs by `follow`, gives the others their slots and
/// counts the uses of each record. Precondition: `event` of the instructions is the index into
/// Role::events.
void place_events(const Role& role, RoleCode& code);

}  // namespace windtunnel
