#pragma once
// A profile is what is known of one device type: data-sheet figures, measured tables, and the
// parameters that were fitted to them. It is a JSON file (`docs/profile_format.md`); the public
// ones stand under scenarios/profiles/, a calibration writes the same format.
//
// Every number is a `Figure`: a value, the log-normal sigma of its error (0 for a count) and the
// source it comes from. Units are the SI base (bytes, seconds, B/s, FLOP/s) unless a field says
// otherwise. Tables have one source and one sigma for all of their rows.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "models/cost/calibration.h"
#include "models/cost/cost_model.h"
#include "models/cost/figure.h"

namespace windtunnel {

struct ProfileSource {
  std::string key, text;
};

/// What the chip is: counts and peak rates. Peaks are dense, without sparsity.
struct ChipFigures {
  Figure sms{};
  std::map<Dtype, Figure> tensor_flops;  // FLOP/s by input type
  Figure memory_bandwidth{};             // B/s
  Figure l2_bytes;
  std::string generation;  // volta | ampere | ada | hopper | blackwell | cdna3, see link_shares.cpp
};

/// Bytes outside the framework's allocator, and what it can get.
struct MemoryFigures {
  Figure driver_bytes{};         // total as the driver's tool shows it
  Figure usable_bytes{};         // what a process sees as the device's total memory: the limit
  Figure context_bytes{};        // CUDA context and modules of one process, loaded lazily
  Figure context_eager_bytes{};  // the same with every module loaded at start (CUDA before 11.7)
  Figure nccl_channel_bytes{};   // buffers of one connection of one channel
  Figure nccl_channels{};        // channels of an intra-node communicator
  Figure nccl_nvls_bytes{};      // multicast buffers of a whole-node communicator
  Figure cublas_workspace{};     // per handle and stream
  Figure cublaslt_workspace{};   // per handle and stream
};

/// The tile-and-wave model of a matrix product (gemm_cost.h says what each does).
struct GemmModel {
  Figure efficiency{};             // of the tensor peak, full waves of the largest tile
  Figure memory_efficiency{};      // of the memory bandwidth
  Figure tile_half_area{};         // elements: smaller tiles reuse less
  Figure ramp{};                   // elements of K: prologue of a tile
  Figure quantisation{};           // 1: time goes with whole waves, 0: with the fraction
  Figure partial_wave{};           // least time of an unfilled first wave, in waves
  Figure epilogue{};               // part of a tile's output traffic that is not hidden
  Figure fixed{};                  // s per kernel
  Figure power_drop{};             // rate lost by kernels long enough to reach the power limit
  Figure power_flops{};            // FLOP at which half of it is lost
  std::map<Dtype, Figure> narrow;  // efficiency of 8-bit products relative to `efficiency`
};

/// One kernel's rate by alignment: the factor for operands whose rows are a multiple of `bytes`.
struct AlignmentStep {
  double bytes = 0.0;
  double factor = 1.0;
};

enum class GemmLayout : std::uint8_t { tn, nn, nt };  // forward, input gradient, weight gradient

/// One measured product; m, n, k as the library sees it (output m x n, inner k).
struct GemmRow {
  double m = 0, n = 0, k = 0;
  GemmLayout layout = GemmLayout::tn;
  bool accumulate_fp32 = false;
  double flops = 0.0;  // FLOP/s reached
};

struct GemmTable {
  Dtype dtype = Dtype::bf16;
  double sigma = 0.0;
  std::uint16_t source = 0;
  double rate_scale = 1.0;  // rate of this device / rate of the device measured
  std::vector<GemmRow> rows{};
};

/// TF(s) = peak * W/(W + wave) * s/(s + half), attention_cost.h.
struct AttentionRow {
  std::uint8_t variant = 0;  // attention_variant.h
  bool backward = false;
  bool causal = true;
  int head_dim = 128;
  double peak = 0.0;  // FLOP/s
  double half_sequence = 0.0;
  double wave = 0.0;
  int query_tile = 128;
  double sigma = 0.0;
  std::uint16_t source = 0;
};

/// Kernels that move bytes: share of the memory bandwidth on bytes counted once per operand.
struct MemoryRow {
  std::string group;  // memory_cost.h has the groups
  bool fused = true;
  Figure efficiency{};
};

/// One measured curve: time of a collective against bytes. Ascending in both.
struct CollectiveCurve {
  CommKind kind = CommKind::all_reduce;
  int ranks = 0, nodes = 1;
  NetworkType network = NetworkType::none;  // none: any, or inside one NVLink domain
  double nic_bandwidth = 0.0;               // between nodes: NIC it was measured on, B/s
  double sigma = 0.0;
  std::uint16_t source = 0;
  std::vector<std::pair<double, double>> points{};  // bytes, seconds
  std::vector<CallNoise> noise{};                   // of each point; empty: not known
};

struct LinkFigures {
  Figure nvlink_bandwidth{};  // NCCL's ring bus bandwidth limit per device, one direction, B/s
  Figure nvls_bandwidth{};    // all-reduce bus bandwidth with in-switch reduction; 0: none
  Figure copy_bandwidth{};    // one pair, one direction, B/s
  Figure pcie_bandwidth{};    // devices of a node without NVLink between them, B/s
  Figure to_host_bandwidth{}, to_device_bandwidth{};  // pinned copies, B/s; 0: those of PCIe
  Figure channels{};                                  // ring channels on a full node
  std::map<NetworkType, Figure> network_efficiency;   // reached share of a NIC's bandwidth
};

struct Profile {
  std::string id, device, kind, date, stack, file;
  std::vector<ProfileSource> sources;
  std::map<CostClass, Figure> class_sigma;
  ChipFigures chip;
  MemoryFigures memory;
  GemmModel gemm;
  std::vector<AlignmentStep> alignment;  // ascending bytes
  std::uint16_t alignment_source = 0;
  Figure unaligned_batched{};  // share of the fp32 peak, see gemm_cost.h
  std::vector<GemmTable> gemm_tables;
  std::vector<AttentionRow> attention;
  std::vector<MemoryRow> memory_bound;
  Figure memory_kernel_floor{};  // s: shortest kernel with its launch gap on the device
  Figure memory_kernel_fixed{};  // s: added to the streaming time
  LinkFigures links;
  std::vector<CollectiveCurve> curves;
  std::map<HostItem, Figure> host;
  /// A calibration prices compute and transfers by itself; what describes a GPU is then not set.
  std::optional<Calibration> calibration;
};

/// Reads and checks a profile. Throws InputError with every problem of the file.
Profile load_profile(const std::string& path);

/// The same of a text; `name` is what diagnostics call it.
Profile parse_profile(const std::string& text, const std::string& name);

/// The public profile of a device: scenarios/profiles/<device>.profile.json under `data_dir()`.
/// Throws InputError naming the devices that have one.
Profile load_public_profile(const std::string& device);

/// Devices that have a public profile, in name order.
std::vector<std::string> public_profile_devices();

}  // namespace windtunnel
