#include "planning/traffic.h"

#include <algorithm>

#include "program/collective_counts.h"
#include "program/op_names.h"

namespace windtunnel {

namespace {

/// The row of a kind and communicator among the rows of the stage, from `begin` on.
TrafficRow& row_of(std::vector<TrafficRow>& rows, std::size_t begin, const TrafficRow& key) {
  const auto first = rows.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto found = std::find_if(first, rows.end(), [&](const TrafficRow& row) {
    return row.kind == key.kind && row.communicator == key.communicator;
  });
  return found != rows.end() ? *found : rows.emplace_back(key);
}

}  // namespace

std::vector<TrafficRow> traffic_rows(const Program& program) {
  std::vector<TrafficRow> rows;
  for (std::size_t role = 0; role < program.roles.size(); ++role) {
    const std::size_t begin = rows.size();
    const auto add = [&](const char* kind, const auto& counted) {
      TrafficRow& row = row_of(rows, begin,
                               {.stage = program.roles[role].pipeline_rank,
                                .kind = kind,
                                .communicator = program.comms[counted.comm].name});
      row.count += counted.count;
      row.elements += counted.elements;
      row.bytes += counted.bytes;
    };
    const CollectiveCounts counts = count_collectives(program, role);
    for (const CollectiveCount& c : counts.collectives) add(name_of(c.collective), c);
    for (const TransferCount& t : counts.transfers) add(name_of(t.kind), t);
  }
  return rows;
}

}  // namespace windtunnel
