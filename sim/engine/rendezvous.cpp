#include "sim/engine/rendezvous.h"

#include <utility>

#include "core/check.h"
#include "sim/engine/lane_math.h"

namespace windtunnel {

Rendezvous::Rendezvous(const Step& step)
    : step_(step),
      channels_(step.compiled.channels.size()),
      gatherings_(step.program.comms.size()) {
  for (Gathering& gathering : gatherings_) gathering.next.assign(step.program.roles.size(), 0);
}

CompletionRef Rendezvous::post(const Instruction& instruction, const Party& party) {
  Open& channel = channels_[instruction.place];
  const bool matches = !channel.unmatched.empty() && channel.sends_ahead != instruction.sends;
  CompletionRef transfer;
  if (matches) {
    transfer = std::move(channel.unmatched.front());
    channel.unmatched.pop_front();
  } else {
    const Channel& ends = step_.compiled.channels[instruction.place];
    transfer = step_.pool.make();
    lane_math::copy(transfer->start, party.floor, step_.pool.lanes());
    transfer->terms.missing = 2;
    transfer->terms.transfer = TransferKind::point_to_point;
    transfer->terms.charges = {.queue = kBubble, .skew = kBubble, .running = instruction.category};
    transfer->terms.comm = instruction.comm;
    transfer->terms.source = static_cast<std::int16_t>(ends.source);
    transfer->terms.destination = static_cast<std::int16_t>(ends.destination);
    if (channel.last) transfer->inputs.push_back(std::exchange(channel.last, {}));
    channel.last = transfer;
    channel.sends_ahead = instruction.sends;
    channel.unmatched.push_back(transfer);
  }
  if (instruction.sends) {
    transfer->terms.duration = party.duration;
    transfer->terms.slow = step_.slow_links.of(party.role, instruction.op);
    transfer->terms.shares = party.shares;
    transfer->terms.noise = party.noise;
  }
  transfer->terms.priced_by = static_cast<std::int16_t>(party.role);
  arrive(*transfer, party);
  return transfer;
}

CompletionRef Rendezvous::meet(const Instruction& instruction, const Party& party) {
  Gathering& gathering = gatherings_[instruction.comm];
  const std::size_t number = gathering.next[static_cast<std::size_t>(party.role)]++;
  while (number - gathering.first >= gathering.open.size()) {
    CompletionRef meeting = step_.pool.make();
    lane_math::copy(meeting->start, party.floor, step_.pool.lanes());
    meeting->terms.missing = step_.compiled.roles_of_comm[instruction.comm];
    meeting->terms.charges = {.queue = kBubble, .skew = kBubble, .running = instruction.category};
    meeting->terms.comm = instruction.comm;
    gathering.open.push_back(std::move(meeting));
  }
  CompletionRef meeting = gathering.open[number - gathering.first];
  // The lowest role's price counts, whichever role is swept first.
  if (meeting->terms.priced_by < 0 || party.role < meeting->terms.priced_by) {
    meeting->terms.priced_by = static_cast<std::int16_t>(party.role);
    meeting->terms.duration = party.duration;
    meeting->terms.slow = step_.slow_links.of(party.role, instruction.op);
    meeting->terms.shares = party.shares;
    meeting->terms.noise = party.noise;
  }
  arrive(*meeting, party);
  while (!gathering.open.empty() && gathering.open.front()->terms.missing == 0) {
    gathering.open.pop_front();
    ++gathering.first;
  }
  return meeting;
}

void Rendezvous::arrive(Completion& completion, const Party& party) {
  CHECK(completion.terms.missing > 0, "no more parties than the communicator has roles");
  lane_math::raise_to(completion.start, party.floor, step_.pool.lanes());
  completion.inputs.insert(completion.inputs.end(), party.inputs.begin(), party.inputs.end());
  if (--completion.terms.missing > 0) return;
  if (completion.terms.waiter >= 0) woken_.push_back(std::exchange(completion.terms.waiter, -1));
  // Resolving now keeps chains of unresolved transfers short.
  step_.pool.resolve(completion);
}

std::string Rendezvous::describe(const Completion& blocker) const {
  const std::string comm = "'" + step_.program.comms[blocker.terms.comm].name + "'";
  if (blocker.terms.source < 0) {
    return "a collective on " + comm + ": " + std::to_string(blocker.terms.missing) + " of " +
           std::to_string(step_.compiled.roles_of_comm[blocker.terms.comm]) +
           " roles have not arrived";
  }
  const bool sender_there = blocker.terms.priced_by == blocker.terms.source;
  return "the transfer from role " + std::to_string(blocker.terms.source) + " to role " +
         std::to_string(blocker.terms.destination) + " on " + comm + ": role " +
         (sender_there ? std::to_string(blocker.terms.destination) + " has not received"
                       : std::to_string(blocker.terms.source) + " has not sent");
}

}  // namespace windtunnel
