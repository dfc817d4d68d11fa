#include "calibrate/ranks/rank_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "calibrate/fit/robust.h"
#include "calibrate/machine.h"
#include "calibrate/measure/overlap_timing.h"
#include "calibrate/measure/stopwatch.h"
#include "calibrate/measure/transfer_timing.h"
#include "calibrate/ranks/slow_parts.h"
#include "calibrate/ranks/transfer_curves.h"
#include "core/unit_text.h"
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

RankPlaces places_of(const MpiWorld& world) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return {.hosts = world.gather(host.data()), .node_of_rank = world.nodes()};
}

/// Those that share this rank's machine.
std::int64_t ranks_beside(int rank, const std::vector<int>& nodes) {
  return std::count(nodes.begin(), nodes.end(), nodes[static_cast<std::size_t>(rank)]);
}

/// All ranks plan with the same memory: they measure the same shapes, one after another.
std::int64_t least_of_all(std::int64_t mine, const MpiWorld& world) {
  std::int64_t least = mine;
  for (const std::string& of_rank : world.gather(std::to_string(mine))) {
    least = std::min(least, std::int64_t{std::stoll(of_rank)});
  }
  return std::stoll(world.broadcast(std::to_string(least)));
}

/// Of each repetition, the mean over the groups.
std::vector<double> mean_of(std::span<const MemberTimes> of_groups,
                            std::vector<double> MemberTimes::*what) {
  std::vector<double> means((of_groups.front().*what).size(), 0.0);
  for (const MemberTimes& group : of_groups) {
    for (std::size_t i = 0; i < means.size(); ++i) {
      means[i] += (group.*what)[i] / static_cast<double>(of_groups.size());
    }
  }
  return means;
}

/// The noise is that of a group: their mean varies less.
void fill(Sample& sample, std::span<const MemberTimes> of_groups) {
  const RobustSummary all = summarise(mean_of(of_groups, &MemberTimes::seconds));
  set_times(sample, all, all.kept);
  double squares = 0.0;
  for (const MemberTimes& group : of_groups) {
    const double noise = summarise(group.seconds).noise;
    squares += noise * noise;
  }
  sample.noise = std::sqrt(squares / static_cast<double>(of_groups.size()));
  const std::vector<double> early = mean_of(of_groups, &MemberTimes::early);
  sample.early =
      std::reduce(early.begin(), early.end()) / static_cast<double>(early.size()) / all.mean;
}

class RankSession {
 public:
  RankSession(const RankCalibration& calibration, const MpiWorld& world)
      : c_(calibration),
        world_(world),
        places_(places_of(world)),
        machine_(this_machine()),
        memory_(least_of_all(
            machine_.memory_bytes / ranks_beside(world.rank(), places_.node_of_rank), world)),
        plan_(plan_measurements(
            calibration.programs,
            {.seed = calibration.seed,
             .of_point = {.bytes = std::min(std::int64_t{1} << 30, memory_ / kMemoryShare)},
             .of_scenario = {.bytes = memory_ / kMemoryShare,
                             .rough_seconds = calibration.budget_s / kMemoryShare / kSlowKernel}})),
        device_({.streams = 2, .events = 8, .capacity_bytes = memory_ / 2}),
        file_(world.rank() == 0 ? calibration.samples : "", machine_line(machine_, "fp32")),
        sampler_(file_, anchor_) {
    curves_ = curves_for(plan_.transfers, places_.node_of_rank);
    communicator_ =
        make_mpi_communicator(world_, groups(), c_.emulated ? Waiting::rests : Waiting::yields);
  }

  std::vector<std::string> run() {
    if (!c_.emulated) {
      measure_alone<float>(plan_,
                           {.budget_s = c_.budget_s * kAloneShare,
                            .seed = c_.seed,
                            .storage_folder = world_.rank() == 0 ? c_.storage_folder : "",
                            .report = c_.progress,
                            .together = {.agreed = [this](bool mine) { return agreed(mine); },
                                         .meet = [this] { world_.barrier(); }}},
                           device_, sampler_);
      note_slow_nodes();
    }
    world_.barrier();
    for (const Curve& curve : curves_) transfers(curve);
    if (!c_.emulated) overlap();
    return slow_;
  }

 private:
  /// Every rank has measured the same kernels, by itself.
  void note_slow_nodes() {
    const std::vector<std::string> of_ranks = world_.gather(pack_times(file_.samples()));
    if (world_.rank() != 0) return;
    std::vector<RankTimes> times;
    for (const std::string& packed : of_ranks) times.push_back(unpack_times(packed));
    for (std::string& line : slow_nodes(times, places_)) slow_.push_back(std::move(line));
  }

  void tell(const std::string& what) const {
    const double left = c_.budget_s - (clock_seconds() - began_);
    c_.progress({.what = what, .seconds_left = std::max(0.0, left)});
  }

  /// This rank's group of every curve, behind one of all ranks.
  std::vector<GroupMembers> groups() const {
    GroupMembers everyone{.name = "all", .ranks = {}};
    for (int r = 0; r < world_.size(); ++r) everyone.ranks.push_back(r);
    std::vector<GroupMembers> all{std::move(everyone)};
    for (const Curve& curve : curves_) {
      GroupMembers mine{.name = "curve" + std::to_string(curve.communicator), .ranks = {}};
      if (const std::vector<int>* group = curve.group_of(world_.rank())) mine.ranks = *group;
      std::sort(mine.ranks.begin(), mine.ranks.end());
      all.push_back(std::move(mine));
    }
    return all;
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
      tell(fmt::format("{} of {} among {} ranks", name_of(curve.kind),
                       format_bytes({static_cast<double>(bytes)}), curve.ranks));
      if (world_.rank() == 0) {
        sampler_.take(sample, [&](Sample& s) {
          const std::vector<MemberTimes> times = all_times(curve, bytes);
          fill(s, times);
          if (bytes == curve.bytes.back()) note_slow_groups(curve, times);
        });
      } else {
        all_times(curve, bytes);
      }
    }
  }

  void note_slow_groups(const Curve& curve, std::span<const MemberTimes> times) {
    std::vector<std::vector<double>> seconds;
    for (const MemberTimes& group : times) seconds.push_back(group.seconds);
    for (std::string& line : slow_groups(name_of(curve.kind), curve.groups, seconds, places_)) {
      slow_.push_back(std::move(line));
    }
  }

  TransferPlan plan_of(const Curve& curve, std::int64_t bytes) const {
    const std::vector<int>& group = *curve.group_of(world_.rank());
    const auto place = std::find(group.begin(), group.end(), world_.rank()) - group.begin();
    TransferPlan plan{.group = curve.communicator,
                      .kind = wire_kind(curve.kind),
                      .elements = bytes / bytes_of(WireType::fp32),
                      .members = curve.ranks,
                      .place = static_cast<int>(place),
                      .part = curve.part,
                      .touched_bytes = curve.touched_bytes};
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
  std::vector<MemberTimes> all_times(const Curve& curve, std::int64_t bytes) {
    std::vector<MemberTimes> few = transfer_times(curve, bytes, kFewRepeats);
    int repeats = 0;
    if (!few.empty()) {
      const double once = kQuietSeconds + median(mean_of(few, &MemberTimes::seconds));
      repeats = std::min(kMostRepeats, static_cast<int>(seconds_of_size() / once));
    }
    repeats = std::stoi(world_.broadcast(std::to_string(repeats)));
    return repeats <= kFewRepeats ? few : transfer_times(curve, bytes, repeats);
  }

  /// On rank 0 the times of all groups, elsewhere nothing.
  std::vector<MemberTimes> transfer_times(const Curve& curve, std::int64_t bytes, int repeats) {
    const Barrier everyone = make_barrier(*communicator_, kEveryone);
    std::vector<TransferStamps> mine;
    if (curve.group_of(world_.rank()) != nullptr) {
      TransferPlan plan = plan_of(curve, bytes);
      plan.repeats = repeats;
      plan.rests = c_.emulated;
      const TransferMemory memory(plan, device_);
      mine = measure_transfer(*communicator_, plan, everyone, memory);
    } else {
      for (int i = 0; i < TransferPlan{}.warm_up + repeats; ++i) everyone();
    }
    const std::chrono::duration<double> offset = clock_offset(world_);
    for (TransferStamps& stamp : mine) {
      stamp.arrived_s += offset.count();
      stamp.ended_s += offset.count();
    }
    const std::vector<std::string> parts = world_.gather(bytes_of_stamps(mine));
    std::vector<MemberTimes> times;
    if (world_.rank() != 0) return times;
    for (const std::vector<int>& group : curve.groups) {
      std::vector<std::vector<TransferStamps>> of_group;
      for (const int rank : group) {
        of_group.push_back(stamps_of(parts[static_cast<std::size_t>(rank)]));
      }
      times.push_back(member_times(of_group));
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
    tell("kernels beside transfers");
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
    } else if (curve->group_of(world_.rank()) != nullptr) {
      measure();
    }
  }

  const RankCalibration& c_;
  const MpiWorld& world_;
  RankPlaces places_;
  Machine machine_;
  std::int64_t memory_;
  MeasurementPlan plan_;
  std::vector<Curve> curves_;
  CpuDevice device_;
  Anchor anchor_;
  SampleFile file_;
  Sampler sampler_;
  std::unique_ptr<Communicator> communicator_;
  double began_ = clock_seconds();
  std::vector<std::string> slow_;
};

}  // namespace

std::vector<std::string> calibrate_rank(const RankCalibration& calibration, const MpiWorld& world) {
  return RankSession(calibration, world).run();
}

}  // namespace windtunnel
