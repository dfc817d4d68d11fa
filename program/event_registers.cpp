#include "program/event_registers.h"

namespace windtunnel {

EventRegisters number_registers(const ProgramFacts& facts, std::size_t role,
                                const std::vector<RegisterNeed>& needs) {
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
  // Registers of one frame lie side by side: events of one chunk form a group, those of several
  // chunks another.
  std::vector<std::uint32_t> group_size(r.chunks.size() + 1, 0),
      group_first(r.chunks.size() + 1, 0);
  const auto group_of = [&](std::size_t e) {
    return chunk_of[e] == kSeveral ? r.chunks.size() : static_cast<std::size_t>(chunk_of[e]);
  };
  const auto in_frame = [&](std::size_t e) {
    return needs[e] == RegisterNeed::per_frame && chunk_of[e] != kNoChunk;
  };
  EventRegisters registers{.places = std::vector<EventPlace>(r.events.size())};
  for (std::size_t e = 0; e < r.events.size(); ++e) {
    if (in_frame(e)) {
      registers.places[e].first = group_size[group_of(e)]++;
    } else if (needs[e] != RegisterNeed::none) {
      registers.places[e].first = registers.count++;
    }
  }
  const auto m = static_cast<std::uint32_t>(p.job.micro_batches);
  const auto chunks = static_cast<std::uint32_t>(r.chunks.size());
  for (std::size_t g = 0; g < group_size.size(); ++g) {
    group_first[g] = registers.count;
    registers.count += group_size[g] * m * (g == chunks ? chunks : 1);
  }
  for (std::size_t e = 0; e < r.events.size(); ++e) {
    if (!in_frame(e)) continue;
    EventPlace& place = registers.places[e];
    place.first += group_first[group_of(e)];
    place.per_batch = group_size[group_of(e)];
    if (chunk_of[e] == kSeveral) place.per_chunk = place.per_batch * m;
  }
  return registers;
}

}  // namespace windtunnel
