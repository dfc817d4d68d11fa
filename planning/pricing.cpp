#include "planning/pricing.h"

#include <cmath>
#include <map>
#include <tuple>

#include "core/check.h"
#include "core/counter_random.h"
#include "planning/clock_range.h"
#include "planning/transfer_noise.h"
#include "program/op_runs.h"
#include "sim/network/placement.h"

namespace windtunnel {

namespace {

/// Extra time while compute and a transfer on another stream run together. Compute: a collective's
/// CTAs hold streaming multiprocessors; 18.9 % is the mean slowdown measured beside communication
/// (2507.03114). Transfers: the reverse effect is smaller; no public figure separates it, so none
/// is assumed.
constexpr double kComputeBesideCollective = 0.189;

/// Where an op's transfer runs: role pairs for point-to-point, the role for collectives.
using TransferKey =
    std::tuple<std::uint32_t, int, int, int, std::int64_t>;  // comm, kind, role, peer, bytes

class Pricer {
 public:
  Pricer(const Program& program, const CostModel& model, const Cluster& cluster)
      : program_(program), model_(model), cluster_(cluster) {}

  PricedProgram run() {
    out_.item_of_op.assign(program_.ops.size(), kNone);
    shape_items_.assign(program_.shapes.size(), kNone);
    for (std::size_t r = 0; r < program_.roles.size(); ++r) {
      for (const Segment* s : segments_of(program_, program_.roles[r])) {
        for (std::uint32_t i = s->op_begin; i < s->op_end; ++i) price_op(i, static_cast<int>(r));
      }
    }
    return std::move(out_);
  }

 private:
  void price_op(std::uint32_t index, int role) {
    const Op& op = program_.ops[index];
    switch (op.kind) {
      case OpKind::compute:
      case OpKind::host_work:
        out_.item_of_op[index] = shape_item(op.shape, index);
        break;
      case OpKind::collective:
      case OpKind::send:
        out_.item_of_op[index] = transfer_item(index, role);
        break;
      default:
        break;
    }
  }

  std::uint32_t add(const OpCost& cost, std::uint32_t shape, std::uint32_t op) {
    out_.items.push_back({.cost = cost, .shape = shape, .op = op});
    return static_cast<std::uint32_t>(out_.items.size() - 1);
  }

  std::uint32_t shape_item(std::uint32_t shape, std::uint32_t op) {
    std::uint32_t& item = shape_items_[shape];
    if (item == kNone) item = add(model_.cost(program_.shapes[shape]), shape, op);
    return item;
  }

  std::uint32_t transfer_item(std::uint32_t index, int role) {
    const Op& op = program_.ops[index];
    const bool p2p = op.kind == OpKind::send;
    const std::int64_t bytes = bytes_of(op.dtype, op.elements);
    const TransferKey key{op.comm, p2p ? -1 : static_cast<int>(op.collective), role, op.peer,
                          bytes};
    const auto [it, added] = transfer_items_.try_emplace(key, 0);
    if (!added) return it->second;
    it->second = add(model_.collective(transfer_query(program_, cluster_, op, role)), kNone, index);
    return it->second;
  }

  const Program& program_;
  const CostModel& model_;
  const Cluster& cluster_;
  PricedProgram out_;
  std::vector<std::uint32_t> shape_items_;
  std::map<TransferKey, std::uint32_t> transfer_items_;
};

double factor(const CostModel& model, const PricedItem& item, std::uint64_t item_index,
              std::uint64_t seed, int draw) {
  if (draw == 0) return 1.0;
  const std::uint64_t d = static_cast<std::uint64_t>(draw);
  const double z_class =
      to_normal(counter_hash(seed, 1, static_cast<std::uint64_t>(item.cost.cls), d));
  const double z_item = to_normal(counter_hash(seed, 2, item_index, d));
  return std::exp(model.class_sigma(item.cost.cls) * z_class + item.cost.sigma * z_item);
}

Theft gpu_theft() {
  Theft theft;  // a ring's hop is a message to it: none
  for (const KernelClass cls : {KernelClass::gemm, KernelClass::attention, KernelClass::memory}) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(TransferKind::ring_shift); ++k) {
      theft.compute[static_cast<std::size_t>(cls)][k] = kComputeBesideCollective;
    }
  }
  return theft;
}

/// Ranks that share a machine move messages with the processors they compute with, so a message
/// counts as the collective that was measured.
Theft measured_theft(const OverlapFigures& overlap) {
  Theft theft;
  for (const auto& [cls, share] : overlap.compute_beside_collective) {
    theft.compute[static_cast<std::size_t>(cls)].fill(share);
  }
  theft.transfer.fill(overlap.collective_beside_compute);
  return theft;
}

/// What the nominal draw's ops cost, by op.
std::vector<Seconds> nominal_seconds(const PricedProgram& priced) {
  std::vector<Seconds> seconds;
  for (const std::uint32_t item : priced.item_of_op)
    seconds.push_back(item == kNone ? Seconds{} : priced.items[item].cost.time);
  return seconds;
}

}  // namespace

CollectiveQuery transfer_query(const Program& program, const Cluster& cluster, const Op& op,
                               int role) {
  Coordinates at;
  at.pp = role;
  const int rank = rank_of(dense_grid(program.mesh), at);
  CollectiveQuery query{.bytes = bytes_of(op.dtype, op.elements)};
  if (op.kind == OpKind::send) {
    query.kind = CommKind::send_recv;
    query.placement = place_pipeline_hop(cluster, program.mesh, rank, op.peer);
  } else {
    query.kind = comm_kind(op.collective);
    query.placement = place_group(cluster, program.mesh, program.comms[op.comm], rank);
  }
  return query;
}

Seconds graph_gap(const Op& op, Seconds gap) {
  return op.captured && op.kind == OpKind::compute ? gap * op.launches : Seconds{};
}

PricedProgram price(const Program& program, const CostModel& model, const Cluster& cluster,
                    const PricingOptions& options) {
  CHECK(options.draws >= 1, "the nominal draw is always there");
  PricedProgram priced = Pricer(program, model, cluster).run();
  const PricedItem launch{.cost = model.host(HostItem::kernel_launch)};
  const PricedItem gap{.cost = model.host(HostItem::graph_node)};
  check_clock_range(program, {.of_op = nominal_seconds(priced), .launch = launch.cost.time});
  const std::size_t draws = static_cast<std::size_t>(options.draws);
  std::vector<Seconds> gaps;  // by draw
  for (int d = 0; d < options.draws; ++d) {
    gaps.push_back(gap.cost.time * factor(model, gap, priced.items.size() + 1, options.seed, d));
  }
  std::vector<Picoseconds> item_times(priced.items.size() * draws);
  for (std::size_t i = 0; i < priced.items.size(); ++i) {
    for (std::size_t d = 0; d < draws; ++d) {
      const double f = factor(model, priced.items[i], i, options.seed, static_cast<int>(d));
      item_times[i * draws + d] = to_picoseconds(priced.items[i].cost.time * f);
    }
  }
  StepCosts& costs = priced.costs;
  costs.draws = options.draws;
  costs.run_ahead = options.run_ahead;
  costs.theft = options.overlap ? measured_theft(*options.overlap) : gpu_theft();
  costs.duration.assign(program.ops.size() * draws, 0);
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    const std::uint32_t item = priced.item_of_op[op];
    if (item == kNone) continue;
    for (std::size_t d = 0; d < draws; ++d) {
      costs.duration[op * draws + d] =
          item_times[item * draws + d] + to_picoseconds(graph_gap(program.ops[op], gaps[d]));
    }
  }
  costs.jitter.transfers = transfer_noise(program, priced);
  for (int d = 0; d < options.draws; ++d) {
    costs.launch.push_back(to_picoseconds(
        launch.cost.time * factor(model, launch, priced.items.size(), options.seed, d)));
  }
  return priced;
}

}  // namespace windtunnel
