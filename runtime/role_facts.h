#pragma once
// What a rank asks of its role and of the role's ops.

#include <optional>

#include "kernels/device/communicator.h"
#include "program/event_registers.h"
#include "program/mesh.h"
#include "program/program.h"

namespace windtunnel {

/// The role of a place of the mesh.
const Role& role_at(const Program& program, const Coordinates& at);

/// Registers for all events of a role, each for as long as something waits on it. `role`: one of
/// the program's.
EventRegisters registers_of(const Program& program, const Role& role);

bool is_transfer(const Op& op);  // a message, or among all of a group
WireKind transfer_kind(const Op& op);

/// The scalar that the last stage's loss kernels add to; none on other stages.
std::optional<SlotId> loss_slot_of(const Program& program, const Role& role);

}  // namespace windtunnel
