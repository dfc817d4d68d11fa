#include "calibrate/ranks/rank_session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "calibrate/fit/robust.h"
#include "calibrate/machine.h"
#include "calibrate/measure/overlap_timing.h"
#include "calibrate/measure/transfer_timing.h"
#include "kernels/device/cpu_device.h"
#include "kernels/mpi/clock_offset.h"
#include "kernels/mpi/mpi_communicator.h"

namespace windtunnel {

namespace {

/// Of the budget, for what needs no other rank; transfers have the rest.
constexpr double kAloneShare = 0.65;
constexpr int kFewRepeats = 5, kMostRepeats = 100;
constexpr int kEveryone = 0;          // the first communicator
constexpr int kMemoryShare = 8;       // one measurement takes an eighth of a rank's memory
constexpr double kSlowKernel = 10.0;  // at a tenth of the rough speed

WireKind wire_kind(CommKind kind) {
  return kind == CommKind::send_recv ? WireKind::send : static_cast<WireKind>(kind);
}

std::string bytes_of_stamps(const std::vector<TransferStamps>& stamps) {
  std::string bytes(stamps.size() * sizeof(TransferStamps), '\0');
  std::memcpy(bytes.data(), stamps.data(), bytes.size());
  return bytes;
}

std::vector<TransferStamps> stamps_of(const std::string& bytes) {
  std::vector<TransferStamps> stamps(bytes.size() / sizeof(TransferStamps));
  std::memcpy(stamps.data(), bytes.data(), stamps.size() * sizeof(TransferStamps));
  return stamps;
}

/// The nearest size of which every member has an equal part of whole numbers.
std::int64_t divisible(std::int64_t bytes, int ranks) {
  const std::int64_t part = ranks * bytes_of(WireType::fp32);
  return std::max<std::int64_t>(1, bytes / part) * part;
}

/// A kind of transfer by groups of ranks, all at the same time, and the sizes to measure.
struct Curve {
  CommKind kind = CommKind::all_reduce;
  int ranks = 2, nodes = 1;  // of a group
  std::vector<std::vector<int>> groups{};
  std::vector<std::int64_t> bytes{};
  int communicator = 0;  // of the session's
};

int nodes_of(const std::vector<std::vector<int>>& groups, const std::vector<int>& node_of_rank) {
  std::size_t most = 1;
  for (const std::vector<int>& group : groups) {
    std::set<int> nodes;
    for (const int rank : group) nodes.insert(node_of_rank.at(static_cast<std::size_t>(rank)));
    most = std::max(most, nodes.size());
  }
  return static_cast<int>(most);
}

/// Those that share this rank's machine.
std::int64_t ranks_here(const MpiWorld& world) {
  const std::vector<int> nodes = world.nodes();
  return std::count(nodes.begin(), nodes.end(), nodes[static_cast<std::size_t>(world.rank())]);
}

class RankSession {
 public:
  RankSession(const RankCalibration& calibration, const MpiWorld& world)
      : c_(calibration),
        world_(world),
        machine_(this_machine()),
        memory_(machine_.memory_bytes / ranks_here(world)),
        plan_(plan_measurements(
            calibration.programs,
            {.seed = calibration.seed,
             .of_point = {.bytes = std::min(std::int64_t{1} << 30, memory_ / kMemoryShare)},
             .of_scenario = {.bytes = memory_ / kMemoryShare,
                             .rough_seconds = calibration.budget_s / kMemoryShare / kSlowKernel}})),
        device_({.streams = 2, .events = 8, .capacity_bytes = memory_ / 2}),
        file_(world.rank() == 0 ? calibration.samples : "", machine_line(machine_, "fp32")),
        sampler_(file_, anchor_) {
    find_curves();
    communicator_ =
        make_mpi_communicator(world_, groups(), c_.emulated ? Waiting::rests : Waiting::yields);
  }

  void run() {
    if (!c_.emulated) {
      measure_alone<float>(plan_,
                           {.budget_s = c_.budget_s * kAloneShare,
                            .seed = c_.seed,
                            .storage_folder = world_.rank() == 0 ? c_.storage_folder : "",
                            .report = [this](const SessionProgress&) { c_.progress(); }},
                           device_, sampler_);
    }
    world_.barrier();
    for (const Curve& curve : curves_) transfers(curve);
    if (!c_.emulated) overlap();
  }

 private:
  /// One curve per kind, size of the groups and nodes they span: by the groups of its dearest use.
  void find_curves() {
    const std::vector<int> node_of_rank = world_.nodes();
    std::map<std::tuple<CommKind, int, int>, std::vector<std::int64_t>> sizes;
    for (const TransferUse& use : plan_.transfers) {
      if (use.groups.back().back() >= world_.size()) continue;  // of a larger scenario
      const int nodes = nodes_of(use.groups, node_of_rank);
      const auto [of_curve, is_new] = sizes.try_emplace({use.kind, use.ranks(), nodes});
      if (is_new) {
        curves_.push_back({.kind = use.kind,
                           .ranks = use.ranks(),
                           .nodes = nodes,
                           .groups = use.groups,
                           .communicator = static_cast<int>(curves_.size()) + 1});
      }
      of_curve->second.push_back(use.bytes());
    }
    for (Curve& curve : curves_) {
      for (const std::int64_t size :
           transfer_sizes(sizes.at({curve.kind, curve.ranks, curve.nodes}))) {
        const std::int64_t whole = divisible(size, curve.ranks);
        if (curve.bytes.empty() || curve.bytes.back() != whole) curve.bytes.push_back(whole);
      }
    }
  }

  /// This rank's group of every curve, behind one of all ranks.
  std::vector<GroupMembers> groups() const {
    GroupMembers everyone{.name = "all", .ranks = {}};
    for (int r = 0; r < world_.size(); ++r) everyone.ranks.push_back(r);
    std::vector<GroupMembers> all{std::move(everyone)};
    for (const Curve& curve : curves_) {
      GroupMembers mine{.name = "curve" + std::to_string(curve.communicator), .ranks = {}};
      if (const std::vector<int>* group = group_of(curve)) mine.ranks = *group;
      std::sort(mine.ranks.begin(), mine.ranks.end());
      all.push_back(std::move(mine));
    }
    return all;
  }

  /// Null where this rank is in none.
  const std::vector<int>* group_of(const Curve& curve) const {
    for (const std::vector<int>& group : curve.groups) {
      if (std::find(group.begin(), group.end(), world_.rank()) != group.end()) return &group;
    }
    return nullptr;
  }

  /// What rank 0 says, on all ranks.
  bool agreed(bool mine) const { return world_.broadcast(mine ? "1" : "0") == "1"; }

  void transfers(const Curve& curve) {
    for (const std::int64_t bytes : curve.bytes) {
      Sample sample{.kind = SampleKind::transfer};
      sample.transfer = curve.kind;
      sample.ranks = curve.ranks;
      sample.nodes = curve.nodes;
      sample.bytes = bytes;
      // Every size once, budget or not: a curve has its ends.
      if (agreed(file_.holds(sample))) continue;
      if (world_.rank() == 0) {
        sampler_.take(sample, [&](Sample& s) {
          const RobustSummary summary = summarise(all_times(curve, bytes));
          set_times(s, summary, summary.kept);
        });
      } else {
        all_times(curve, bytes);
      }
      c_.progress();
    }
  }

  TransferPlan plan_of(const Curve& curve, std::int64_t bytes) const {
    const std::vector<int>& group = *group_of(curve);
    const auto place = std::find(group.begin(), group.end(), world_.rank()) - group.begin();
    TransferPlan plan{.group = curve.communicator,
                      .kind = wire_kind(curve.kind),
                      .elements = bytes / bytes_of(WireType::fp32),
                      .members = curve.ranks,
                      .place = static_cast<int>(place)};
    if (curve.kind == CommKind::send_recv) {
      plan.kind = place == 0 ? WireKind::send : WireKind::recv;
      plan.peer = group[place == 0 ? 1 : 0];
    }
    return plan;
  }

  /// Sizes have equal parts of what the budget has for transfers.
  double seconds_of_size() const {
    std::size_t sizes = 0;
    for (const Curve& curve : curves_) sizes += curve.bytes.size();
    const double share = c_.emulated ? 1.0 : 1.0 - kAloneShare;
    return c_.budget_s * share / static_cast<double>(sizes);
  }

  /// As many times as its part of the budget has room for; more than a few, since one interruption
  /// is as long as many short transfers, and a few where one takes long.
  std::vector<double> all_times(const Curve& curve, std::int64_t bytes) {
    std::vector<double> few = transfer_times(curve, bytes, kFewRepeats);
    int repeats = 0;
    if (!few.empty()) {
      repeats = std::min(kMostRepeats,
                         static_cast<int>(seconds_of_size() / (kQuietSeconds + median(few))));
    }
    repeats = std::stoi(world_.broadcast(std::to_string(repeats)));
    return repeats <= kFewRepeats ? few : transfer_times(curve, bytes, repeats);
  }

  /// On rank 0 the mean times of all groups, elsewhere nothing.
  std::vector<double> transfer_times(const Curve& curve, std::int64_t bytes, int repeats) {
    const Barrier everyone = make_barrier(*communicator_, kEveryone);
    std::vector<TransferStamps> mine;
    if (group_of(curve) != nullptr) {
      TransferPlan plan = plan_of(curve, bytes);
      plan.repeats = repeats;
      plan.rests = c_.emulated;
      mine = measure_transfer(*communicator_, plan, everyone);
    } else {
      for (int i = 0; i < TransferPlan{}.warm_up + repeats; ++i) everyone();
    }
    const std::chrono::duration<double> offset = clock_offset(world_);
    for (TransferStamps& stamp : mine) {
      stamp.arrived_s += offset.count();
      stamp.ended_s += offset.count();
    }
    const std::vector<std::string> parts = world_.gather(bytes_of_stamps(mine));
    std::vector<double> times;
    if (world_.rank() != 0) return times;
    for (const std::vector<int>& group : curve.groups) {
      std::vector<std::vector<TransferStamps>> of_group;
      for (const int rank : group) {
        of_group.push_back(stamps_of(parts[static_cast<std::size_t>(rank)]));
      }
      const std::vector<double> seconds = transfer_seconds(of_group);
      times.resize(seconds.size(), 0.0);
      for (std::size_t i = 0; i < times.size(); ++i) {
        times[i] += seconds[i] / static_cast<double>(curve.groups.size());
      }
    }
    return times;
  }

  /// The dearest matrix product beside the all-reduce that most bytes go through.
  void overlap() {
    const auto gemm = std::find_if(plan_.scenario.begin(), plan_.scenario.end(), [](const auto& p) {
      return p.task.shape.kernel == Kernel::gemm_fwd;
    });
    const auto curve = std::find_if(curves_.begin(), curves_.end(),
                                    [](const Curve& c) { return c.kind == CommKind::all_reduce; });
    if (gemm == plan_.scenario.end() || curve == curves_.end()) return;
    Sample sample{.kind = SampleKind::overlap, .shape = gemm->task.shape};
    sample.transfer = curve->kind;
    sample.ranks = curve->ranks;
    sample.nodes = curve->nodes;
    sample.bytes = curve->bytes.back();
    if (agreed(file_.holds(sample))) return;
    const auto measure = [&] {
      OverlapPlan plan{.kernel = gemm->task, .transfer = plan_of(*curve, sample.bytes)};
      plan.transfer.repeats = 10;
      return measure_overlap<float>(plan, device_, *communicator_,
                                    make_barrier(*communicator_, plan.transfer.group));
    };
    if (world_.rank() == 0) {
      sampler_.take(sample, [&](Sample& s) {
        const OverlapTiming timing = measure();
        s.seconds = timing.kernel_alone;
        s.kernel_theft = timing.kernel_theft();
        s.transfer_theft = timing.transfer_theft();
      });
    } else if (group_of(*curve) != nullptr) {
      measure();
    }
    c_.progress();
  }

  const RankCalibration& c_;
  const MpiWorld& world_;
  Machine machine_;
  std::int64_t memory_;
  MeasurementPlan plan_;
  std::vector<Curve> curves_;
  CpuDevice device_;
  Anchor anchor_;
  SampleFile file_;
  Sampler sampler_;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace

void calibrate_rank(const RankCalibration& calibration, const MpiWorld& world) {
  RankSession(calibration, world).run();
}

}  // namespace windtunnel
