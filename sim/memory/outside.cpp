#include "sim/memory/outside.h"

#include <algorithm>
#include <set>

#include "core/check.h"
#include "program/mesh.h"

namespace windtunnel {
namespace {

// NVLS needs more than two ranks (NVIDIA/nccl src/transport/nvls.cc: nothing to gain below).
constexpr int kNvlsLeastRanks = 3;

/// What a role does on one communicator.
struct Use {
  bool collective = false, all_reduce = false;
  std::set<int> receives_from, exchanges_with;  // roles
};

std::vector<Use> uses_of(const Program& program, const Role& role) {
  std::vector<Use> uses(program.comms.size());
  std::vector<bool> seen(program.segments.size(), false);
  const auto add_calls = [&](const std::vector<Call>& calls) {
    for (const Call& call : calls) {
      if (seen[call.segment]) continue;
      seen[call.segment] = true;
      for (const Op& op : program.ops_of(call)) {
        if (op.comm == kNone) continue;
        Use& use = uses[op.comm];
        if (op.kind == OpKind::collective) {
          use.collective = true;
          use.all_reduce = use.all_reduce || op.collective == Collective::all_reduce;
        } else if (is_message(op.kind)) {
          use.exchanges_with.insert(op.peer);
          if (op.kind == OpKind::recv) use.receives_from.insert(op.peer);
        }
      }
    }
  };
  add_calls(role.prologue);
  add_calls(role.calls);
  return uses;
}

/// Where the rank of a role stands among NVLink domains.
struct Neighbourhood {
  const Program& program;
  int rank, domain_ranks;

  bool shares_domain(int other) const { return other / domain_ranks == rank / domain_ranks; }
  int rank_of_role(int role) const {
    Coordinates at = coordinates_of(dense_grid(program.mesh), rank);
    at.pp = program.roles[static_cast<std::size_t>(role)].pipeline_rank;
    return rank_of(dense_grid(program.mesh), at);
  }
};

std::int64_t collective_bytes(const Use& use, const std::vector<int>& ranks,
                              const Neighbourhood& here, const NcclMemory& nccl) {
  if (!use.collective) return 0;
  const auto near =
      std::count_if(ranks.begin(), ranks.end(), [&](int rank) { return here.shares_domain(rank); });
  const bool one_domain = near == static_cast<std::ptrdiff_t>(ranks.size());
  const std::int64_t channels = one_domain ? nccl.channels_in_domain : nccl.channels_across;
  const std::int64_t connections =
      nccl.ring_connections + (use.all_reduce || nccl.connects_at_init ? nccl.tree_connections : 0);
  return channels * connections * nccl.connection_bytes +
         (near >= kNvlsLeastRanks ? nccl.nvls_bytes : 0);
}

std::int64_t exchange_bytes(const Use& use, const Neighbourhood& here, const NcclMemory& nccl) {
  const auto near = [&](int role) { return here.shares_domain(here.rank_of_role(role)); };
  std::int64_t bytes = 0;
  for (const int role : use.receives_from) {
    if (near(role)) bytes += nccl.peer_channels * nccl.connection_bytes;
  }
  const bool over_network =
      !std::all_of(use.exchanges_with.begin(), use.exchanges_with.end(), near);
  return bytes + (over_network ? nccl.network_pool_bytes : 0);
}

/// One two-rank communicator for each peer, whichever direction the transfers go.
std::int64_t pair_bytes(const std::vector<Use>& uses, const Neighbourhood& here,
                        const NcclMemory& nccl) {
  std::set<int> peers;
  for (const Use& use : uses) peers.insert(use.exchanges_with.begin(), use.exchanges_with.end());
  std::int64_t bytes = 0;
  for (const int role : peers) {
    const bool near = here.shares_domain(here.rank_of_role(role));
    const std::int64_t channels = near ? nccl.channels_in_domain : nccl.channels_across;
    bytes += nccl.communicator_bytes +
             channels * (nccl.ring_connections + nccl.tree_connections) * nccl.connection_bytes;
  }
  return bytes;
}

}  // namespace

OutsideMemory outside_memory(const Program& program, int role, const DeviceMemory& device,
                             int domain_ranks) {
  CHECK(domain_ranks > 0, "a domain has ranks");
  const Role& mine = program.roles[static_cast<std::size_t>(role)];
  const int rank = rank_of(dense_grid(program.mesh), Coordinates{.pp = mine.pipeline_rank});
  const Neighbourhood here{.program = program, .rank = rank, .domain_ranks = domain_ranks};
  OutsideMemory outside{
      .context_bytes = device.context_bytes,
      .other_bytes = device.other_bytes + mine.graph_kernels * device.graph_kernel_bytes};
  const std::vector<Use> uses = uses_of(program, mine);
  for (std::uint32_t c = 0; c < program.comms.size(); ++c) {
    if (!uses[c].collective && (uses[c].exchanges_with.empty() || device.nccl.connects_at_init))
      continue;
    const std::vector<int> ranks = members(program.mesh, program.comms[c], rank);
    if (ranks.size() < 2) continue;
    const std::int64_t bytes =
        device.nccl.communicator_bytes + collective_bytes(uses[c], ranks, here, device.nccl) +
        (device.nccl.connects_at_init ? 0 : exchange_bytes(uses[c], here, device.nccl));
    outside.communicators.push_back(
        {.comm = c, .ranks = static_cast<int>(ranks.size()), .bytes = bytes});
    outside.nccl_bytes += bytes;
  }
  if (device.nccl.connects_at_init) outside.nccl_bytes += pair_bytes(uses, here, device.nccl);
  return outside;
}

}  // namespace windtunnel
