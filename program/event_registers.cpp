#include "program/event_registers.h"

namespace windtunnel {

EventRegisters number_registers(const ProgramFacts& facts, std::size_t role) {
  const Program& p = facts.program;
  const Role& r = p.roles[role];
  constexpr int kNoChunk = -2, kSeveral = -3;
  std::vector<int> chunk_of(r.events.size(), kNoChunk);
  for (const CallVariant& variant : facts.roles[role].variants) {
    const Segment& segment = p.segments[variant.call.segment];
    for (std::uint32_t i = segment.op_begin; i < segment.op_end; ++i) {
      const Op& op = p.ops[i];
      if (op.kind != OpKind::record && op.kind != OpKind::wait && op.kind != OpKind::host_sync)
        continue;
      int& chunk = chunk_of[op.event];
      chunk = chunk == kNoChunk || chunk == variant.call.chunk ? variant.call.chunk : kSeveral;
    }
  }
  EventRegisters registers;
  const auto m = static_cast<std::uint32_t>(p.job.micro_batches);
  for (std::size_t e = 0; e < r.events.size(); ++e) {
    EventPlace place{.first = registers.count};
    if (!r.events[e].per_frame) {
      registers.count += 1;
    } else if (chunk_of[e] != kSeveral) {
      place.per_batch = 1;
      registers.count += m;
    } else {
      place.per_batch = 1;
      place.per_chunk = m;
      registers.count += m * static_cast<std::uint32_t>(r.chunks.size());
    }
    registers.places.push_back(place);
  }
  return registers;
}

}  // namespace windtunnel
