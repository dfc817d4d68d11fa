#include "calibrate/ranks/rank_session.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "calibrate/fit/robust.h"
#include "calibrate/machine.h"
#include "calibrate/measure/overlap_timing.h"
#include "calibrate/measure/transfer_timing.h"
#include "kernels/device/cpu_device.h"
#include "kernels/mpi/mpi_communicator.h"

namespace windtunnel {

namespace {

/// Of the budget, for what needs no other rank; transfers have the rest.
constexpr double kAloneShare = 0.65;
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

/// A kind of transfer among the first `ranks` ranks, and the sizes to measure.
struct Curve {
  CommKind kind = CommKind::all_reduce;
  int ranks = 2;
  std::vector<std::int64_t> bytes;
};

class RankSession {
 public:
  RankSession(const RankCalibration& calibration, const MpiWorld& world)
      : c_(calibration),
        world_(world),
        machine_(this_machine()),
        memory_(machine_.memory_bytes / world.size()),
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
    communicator_ = make_mpi_communicator(world_, groups(), largest_bytes_);
  }

  void run() {
    measure_alone<float>(plan_,
                         {.budget_s = c_.budget_s * kAloneShare,
                          .seed = c_.seed,
                          .storage_folder = world_.rank() == 0 ? c_.storage_folder : "",
                          .report = [this](const SessionProgress&) { c_.progress(); }},
                         device_, sampler_);
    world_.barrier();
    for (const Curve& curve : curves_) transfers(curve);
    overlap();
  }

 private:
  void find_curves() {
    std::map<std::pair<CommKind, int>, std::vector<std::int64_t>> sizes;
    for (const TransferUse& use : plan_.transfers) {
      sizes[{use.kind, static_cast<int>(use.ranks.size())}].push_back(use.bytes());
      largest_bytes_ = std::max(largest_bytes_, use.bytes());
    }
    for (const auto& [key, bytes] : sizes) {
      Curve curve{.kind = key.first, .ranks = key.second, .bytes = {}};
      for (const std::int64_t size : transfer_sizes(bytes)) {
        const std::int64_t whole = divisible(size, key.second);
        if (curve.bytes.empty() || curve.bytes.back() != whole) curve.bytes.push_back(whole);
      }
      curves_.push_back(std::move(curve));
      sizes_of_groups_.insert(key.second);
    }
  }

  std::vector<GroupMembers> groups() const {
    std::vector<GroupMembers> all;
    for (const int n : sizes_of_groups_) {
      GroupMembers group{.name = "first" + std::to_string(n), .ranks = {}};
      for (int r = 0; r < n && world_.rank() < n; ++r) group.ranks.push_back(r);
      all.push_back(std::move(group));
    }
    return all;
  }

  int group_of(int ranks) const {
    return static_cast<int>(std::distance(sizes_of_groups_.begin(), sizes_of_groups_.find(ranks)));
  }

  /// What rank 0 says, on all ranks.
  bool agreed(bool mine) const { return world_.broadcast(mine ? "1" : "0") == "1"; }

  void transfers(const Curve& curve) {
    for (const std::int64_t bytes : curve.bytes) {
      Sample sample{.kind = SampleKind::transfer};
      sample.transfer = curve.kind;
      sample.ranks = curve.ranks;
      sample.bytes = bytes;
      // Every size once, budget or not: a curve has its ends.
      if (agreed(file_.holds(sample))) continue;
      if (world_.rank() == 0) {
        sampler_.take(sample, [&](Sample& s) {
          const RobustSummary summary = summarise(transfer_times(curve, bytes));
          set_times(s, summary, summary.kept);
        });
      } else {
        transfer_times(curve, bytes);
      }
      c_.progress();
    }
  }

  TransferPlan plan_of(const Curve& curve, std::int64_t bytes) const {
    TransferPlan plan{.group = group_of(curve.ranks),
                      .kind = wire_kind(curve.kind),
                      .elements = bytes / bytes_of(WireType::fp32),
                      .members = curve.ranks,
                      .place = world_.rank()};
    if (curve.kind == CommKind::send_recv) {
      plan.kind = world_.rank() == 0 ? WireKind::send : WireKind::recv;
      plan.peer = 1 - world_.rank();
    }
    return plan;
  }

  /// On rank 0 the times, elsewhere nothing.
  std::vector<double> transfer_times(const Curve& curve, std::int64_t bytes) {
    std::vector<TransferStamps> mine;
    if (world_.rank() < curve.ranks) {
      const TransferPlan plan = plan_of(curve, bytes);
      mine = measure_transfer(*communicator_, plan, make_barrier(*communicator_, plan.group));
    }
    std::vector<std::vector<TransferStamps>> all;
    for (const std::string& part : world_.gather(bytes_of_stamps(mine))) {
      if (!part.empty()) all.push_back(stamps_of(part));
    }
    return all.empty() ? std::vector<double>{} : transfer_seconds(all);
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
    } else if (world_.rank() < curve->ranks) {
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
  std::set<int> sizes_of_groups_;
  std::int64_t largest_bytes_ = 0;
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
