#pragma once
// The seam between a program and time: what an op costs, how sure that is, and where it comes from.
//
// A `CostModel` prices one device type on one cluster: compute shapes, collectives and transfers of
// a placed group, and host work. It knows nothing of schedules or overlap; a cost is the time the
// op takes alone, from the moment its last member has arrived. Every cost carries a log-normal
// sigma of its own and a class; ops of one class also share a correlated factor whose sigma the
// class states, so an uncertainty draw multiplies a cost by
// exp(sigma_class * z_class + sigma_op * z_op).

#include <array>
#include <cstdint>
#include <string>

#include "core/units.h"
#include "program/program.h"

namespace windtunnel {

/// Ops whose errors move together.
enum class CostClass : std::uint8_t {
  exact,
  gemm,
  attention,
  memory,
  nvlink,
  network,
  host,
  shared_memory,  // transfers between ranks of one machine without devices of their own
  link,           // copies between a device and its host
  count
};
const char* name_of(CostClass cls);
/// Of a kernel: what is neither a matrix product nor attention moves bytes.
CostClass cost_class_of(KernelClass cls);

/// What a number rests on, from best to worst.
enum class Basis : std::uint8_t {
  exact,       // said by the scenario (device `unit`)
  measured,    // this very shape or size was measured
  near,        // corrected by measurements of near shapes or sizes
  modelled,    // a formula whose parameters were fitted to measurements of this device
  data_sheet,  // a formula over the vendor's figures
  assumed      // by analogy with another device or by experience
};
const char* name_of(Basis basis);

/// Where a cost comes from. `source` is an id for CostModel::source_text.
struct Origin {
  Basis basis = Basis::exact;
  std::uint16_t source = 0;
};

/// How the time of a transfer differs from call to call and its members' ends from each other,
/// relative to its time.
struct CallNoise {
  double sigma = 0.0;  // standard deviation of the time until the last member's end
  double early = 0.0;  // by how much a member's end is before the last one's, on average
};

struct OpCost {
  Seconds time{};
  CostClass cls = CostClass::exact;
  double sigma = 0.0;  // log-normal, of this op given its class
  Origin origin{};
  CallNoise noise{};  // of transfers
};

/// What is sent: the collectives and a point-to-point transfer.
enum class CommKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  ring_shift,
  send_recv
};
const char* name_of(CommKind kind);
/// One step of the whole message over one direction of a rank's link.
constexpr bool is_message(CommKind kind) {
  return kind == CommKind::send_recv || kind == CommKind::ring_shift;
}
CommKind comm_kind(Collective collective);

enum class NetworkType : std::uint8_t { none, ib, roce, efa, tcp };
const char* name_of(NetworkType type);

/// Where the members of one group sit, and what they share. Filled in by sim/network/placement.h.
struct Placement {
  int ranks = 1;
  int nodes = 1;                // nodes the group spans
  int per_node = 1;             // most members on one node
  int domains = 1;              // NVLink domains the group spans
  int per_domain = 1;           // most members in one domain
  int groups_sharing_nics = 1;  // groups like this one that use one node's NICs at the same time
  int devices_per_node = 1;
  int nics_per_node = 0;           // 0: there is no network
  BytesPerSecond nic_bandwidth{};  // one NIC, one direction, as its data sheet says
  double oversubscription = 1.0;
  Seconds network_latency{};  // one way, 0: not stated
  NetworkType network = NetworkType::none;
};

/// `bytes` is the size of the full (gathered) tensor, for all_to_all the local buffer, for
/// ring_shift and send_recv the message: the convention of nccl-tests' doc/PERFORMANCE.md.
struct CollectiveQuery {
  CommKind kind = CommKind::all_reduce;
  std::int64_t bytes = 0;
  Placement placement{};
};

/// Work of a rank's CPU thread. A `host_work` op names one item by dims[0] and repeats it dims[1]
/// times (at least once).
enum class HostItem : std::uint8_t {
  kernel_launch,    // one launch through the runtime API, nothing around it
  eager_op,         // a framework operator in the forward: dispatch, autograd record, launch
  backward_node,    // one node of the autograd engine, with its launches
  module_call,      // a Python-level module or function call around operators
  collective_call,  // one collective or grouped transfer through the framework
  graph_launch,     // replay of a captured graph
  graph_node,       // each kernel of a replayed graph
  synchronize,      // the host waits for the device and learns that it has finished
  count
};
const char* name_of(HostItem item);

class CostModel {
 public:
  virtual ~CostModel() = default;

  /// Time of a compute or host_work shape on an otherwise idle device.
  virtual OpCost cost(const Shape& shape) const = 0;

  /// Time of one collective or transfer from its last member's arrival, nothing else on its links
  /// but the `groups_sharing_nics` groups like it. 0 for one rank.
  virtual OpCost collective(const CollectiveQuery& query) const = 0;

  /// Host time of one item.
  virtual OpCost host(HostItem item) const = 0;

  /// Sigma of the factor that all ops of a class share.
  virtual double class_sigma(CostClass cls) const = 0;

  /// The name of a source: paper, repository at a commit, data sheet.
  virtual std::string source_text(std::uint16_t source) const = 0;
};

}  // namespace windtunnel
