#include "program/collective_counts.h"

#include <algorithm>

namespace windtunnel {

namespace {

template <class Wanted, class Value>
bool matches(const std::optional<Wanted>& wanted, const Value& value) {
  return !wanted || *wanted == value;
}

bool counts(const Program& program, const CountFilter& f, const Call& call, const Op& op) {
  return matches(f.comm, program.comms[op.comm].name) && matches(f.phase, op.phase) &&
         matches(f.module, op.module) && matches(f.layer, op.layer) &&
         matches(f.micro_batch, call.micro_batch) && matches(f.recompute, op.recompute);
}

void add(CollectiveCounts& counts, const Op& op) {
  const auto same = [&](const CollectiveCount& c) {
    return c.comm == op.comm && c.collective == op.collective && c.reduce == op.reduce &&
           c.phase == op.phase && c.dtype == op.dtype;
  };
  auto it = std::find_if(counts.collectives.begin(), counts.collectives.end(), same);
  if (it == counts.collectives.end())
    it = counts.collectives.insert(it, {.comm = op.comm,
                                        .collective = op.collective,
                                        .reduce = op.reduce,
                                        .phase = op.phase,
                                        .dtype = op.dtype});
  ++it->count;
  it->elements += op.elements;
  it->bytes += bytes_of(op.dtype, op.elements);
}

void add_transfer(CollectiveCounts& counts, const Op& op) {
  const auto same = [&](const TransferCount& c) {
    return c.kind == op.kind && c.comm == op.comm && c.peer == op.peer && c.phase == op.phase;
  };
  auto it = std::find_if(counts.transfers.begin(), counts.transfers.end(), same);
  if (it == counts.transfers.end())
    it = counts.transfers.insert(
        it, {.kind = op.kind, .comm = op.comm, .peer = op.peer, .phase = op.phase});
  ++it->count;
  it->elements += op.elements;
  it->bytes += bytes_of(op.dtype, op.elements);
}

}  // namespace

CollectiveCount CollectiveCounts::sum(Collective collective) const {
  CollectiveCount total{.collective = collective};
  for (const CollectiveCount& c : collectives) {
    if (c.collective != collective) continue;
    total.count += c.count;
    total.elements += c.elements;
    total.bytes += c.bytes;
  }
  return total;
}

TransferCount CollectiveCounts::sum(OpKind kind) const {
  TransferCount total{.kind = kind};
  for (const TransferCount& c : transfers) {
    if (c.kind != kind) continue;
    total.count += c.count;
    total.elements += c.elements;
    total.bytes += c.bytes;
  }
  return total;
}

CollectiveCounts count_collectives(const Program& program, std::size_t role,
                                   const CountFilter& filter) {
  CollectiveCounts result;
  for (const Call& call : program.roles[role].calls) {
    for (const Op& op : program.ops_of(call)) {
      const bool collective = op.kind == OpKind::collective;
      if (!collective && op.kind != OpKind::send && op.kind != OpKind::recv) continue;
      if (!runs(op, call, 1) || !counts(program, filter, call, op)) continue;
      if (!collective) {
        add_transfer(result, op);
      } else if (matches(filter.collective, op.collective)) {
        add(result, op);
      }
    }
  }
  return result;
}

}  // namespace windtunnel
