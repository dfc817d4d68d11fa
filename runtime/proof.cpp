#include "runtime/proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "kernels/reference/number.h"
#include "program/mesh.h"
#include "runtime/interpreter.h"
#include "runtime/param_map.h"

namespace windtunnel {

namespace {

using reference::Field;
using reference::Number;

/// A whole tensor: global (rows, cols), and whether each element was given.
struct WholeTensor {
  std::vector<double> values;
  std::vector<char> given;
  double largest = 0.0;
};
using WholeTensors = std::map<std::string, WholeTensor>;

std::int64_t size_of(const Param& param) {
  return param.size();
}

WholeTensors assemble(const Program& program, const std::vector<TensorPiece>& pieces) {
  WholeTensors tensors;
  for (const TensorPiece& piece : pieces) {
    const Param& param = program.params[piece.param];
    const auto n = static_cast<std::size_t>(size_of(param));
    WholeTensor& tensor = tensors[tensor_name(program, param)];
    tensor.values.resize(n, 0.0);
    tensor.given.resize(n, 0);
    for (std::size_t i = 0; i < piece.index.size(); ++i) {
      const auto at = static_cast<std::size_t>(piece.index[i]);
      if (at >= n) continue;
      tensor.values[at] = piece.values[i];
      tensor.given[at] = 1;
      tensor.largest = std::max(tensor.largest, std::abs(piece.values[i]));
    }
  }
  return tensors;
}

class Comparison {
 public:
  Comparison(const Program& plan, const Program& one_device, NumberMode mode)
      : plan_(plan),
        one_device_(one_device),
        mode_(mode),
        tolerance_(mode == NumberMode::fp32 ? fp32_bound(one_device) : kFp64Tolerance) {}

  void step(int number, const StepRecord& plan, const StepRecord& one_device) {
    step_ = number;
    if (mode_ == NumberMode::fp32 && number > 0) return;
    losses(plan, one_device);
    norms(plan, one_device);
    if (mode_ == NumberMode::fp32) return norms_of_gradients(plan, one_device);
    tensors("used weight", plan.used, one_device.used);
    tensors("gradient", plan.gradients, one_device.gradients);
    tensors("updated weight", plan.updated, one_device.updated);
  }
  ProofResult take() { return std::move(result_); }

 private:
  /// `scale`: what a difference is relative to.
  void number(Difference d, double scale) {
    ++result_.compared;
    const double error =
        d.expected == d.got ? 0.0 : std::abs(d.expected - d.got) / std::max(scale, 1e-300);
    const bool equal = mode_ == NumberMode::field ? d.expected == d.got : error <= tolerance_;
    if (std::isnan(error) || error > result_.worst) result_.worst = error;
    if (!equal) keep(std::move(d));
  }

  void keep(Difference d) {
    d.step = step_;
    if (result_.differences.size() < kKeptDifferences) result_.differences.push_back(std::move(d));
  }

  /// The mean over data- and context-parallel ranks of what each rank's micro-batches add up to,
  /// for every place in the tensor-parallel group that computes it.
  double total_loss(const Program& program, const std::vector<MicroBatchLoss>& losses) const {
    const int dp = replica_ranks(program.mesh);
    if (mode_ != NumberMode::field) {
      double sum = 0.0;
      for (const MicroBatchLoss& l : losses) sum += l.loss;
      return sum / dp;
    }
    Field sum;
    for (const MicroBatchLoss& l : losses) sum += Field{static_cast<std::uint64_t>(l.loss)};
    return Number<Field>::to_double(sum * Number<Field>::ratio(1, dp));
  }

  void losses(const StepRecord& plan, const StepRecord& one_device) {
    const double expected = total_loss(one_device_, one_device.losses);
    const Grid grid = dense_grid(plan_.mesh);
    std::map<int, std::vector<MicroBatchLoss>> by_tp;
    for (const MicroBatchLoss& l : plan.losses) {
      by_tp[coordinates_of(grid, l.rank).tp].push_back(l);
    }
    for (int tp = 0; tp < plan_.mesh.tp; ++tp) {
      const double got = total_loss(plan_, by_tp[tp]);
      number({.what = fmt::format("loss on tensor-parallel place {}", tp),
              .tensor = "",
              .expected = expected,
              .got = got},
             std::abs(expected));
    }
  }

  void norms(const StepRecord& plan, const StepRecord& one_device) {
    if (one_device.norms.empty() && plan.norms.empty()) return;
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    const double expected = one_device.norms.empty() ? nothing : one_device.norms.front().norm2;
    std::set<int> without;
    for (int rank = 0; rank < plan_.mesh.ranks(); ++rank) without.insert(rank);
    for (const RankNorm& norm : plan.norms) {
      without.erase(norm.rank);
      number({.what = "norm2",
              .tensor = "",
              .rank = norm.rank,
              .expected = expected,
              .got = norm.norm2},
             std::abs(expected));
    }
    for (const int rank : without) {
      keep({.what = "norm2", .tensor = "", .rank = rank, .expected = expected, .got = nothing});
    }
  }

  /// Frobenius norms of what differs and of what is expected, tensor by tensor.
  void norms_of_gradients(const StepRecord& plan, const StepRecord& one_device) {
    WholeTensors whole = assemble(one_device_, one_device.gradients);
    std::map<std::string, std::pair<double, double>> squares;
    for (const TensorPiece& piece : plan.gradients) {
      const std::string name = tensor_name(plan_, plan_.params[piece.param]);
      const WholeTensor& tensor = whole[name];
      auto& [difference, expected] = squares[name];
      for (std::size_t i = 0; i < piece.index.size(); ++i) {
        const auto at = static_cast<std::size_t>(piece.index[i]);
        const double e = at < tensor.values.size() ? tensor.values[at] : 0.0;
        difference += (piece.values[i] - e) * (piece.values[i] - e);
        expected += e * e;
      }
    }
    for (const auto& [name, tensor] : whole) {
      const auto found = squares.find(name);
      const double nothing = std::numeric_limits<double>::quiet_NaN();
      const double expected = found == squares.end() ? nothing : std::sqrt(found->second.second);
      const double apart = found == squares.end() ? nothing : std::sqrt(found->second.first);
      number({.what = "gradient's norm of what differs",
              .tensor = name,
              .expected = 0.0,
              .got = apart},
             expected);
    }
  }

  void tensors(const char* what, const std::vector<TensorPiece>& plan,
               const std::vector<TensorPiece>& one_device) {
    WholeTensors whole = assemble(one_device_, one_device);
    std::map<std::string, std::vector<char>> covered;
    for (const TensorPiece& piece : plan) {
      const std::string name = tensor_name(plan_, plan_.params[piece.param]);
      piece_against(what, name, piece, whole[name]);
      std::vector<char>& mark = covered[name];
      mark.resize(whole[name].values.size(), 0);
      for (const std::int64_t i : piece.index) {
        if (static_cast<std::size_t>(i) < mark.size()) mark[static_cast<std::size_t>(i)] = 1;
      }
    }
    for (const auto& [name, tensor] : whole) {
      const std::vector<char>& mark = covered[name];
      for (std::size_t i = 0; i < tensor.values.size(); ++i) {
        if (i < mark.size() && mark[i]) continue;
        keep({.what = std::string(what) + " on no rank",
              .tensor = name,
              .index = static_cast<std::int64_t>(i),
              .expected = tensor.values[i],
              .got = std::numeric_limits<double>::quiet_NaN()});
        break;
      }
    }
  }

  void piece_against(const char* what, const std::string& name, const TensorPiece& piece,
                     const WholeTensor& whole) {
    for (std::size_t i = 0; i < piece.index.size(); ++i) {
      const auto at = static_cast<std::size_t>(piece.index[i]);
      const bool padding = piece.index[i] >= size_of(plan_.params[piece.param]);
      double expected = std::numeric_limits<double>::quiet_NaN();
      if (padding) {
        expected = 0.0;
      } else if (at < whole.values.size() && whole.given[at]) {
        expected = whole.values[at];
      }
      number({.what = what,
              .tensor = name,
              .index = piece.index[i],
              .rank = piece.rank,
              .expected = expected,
              .got = piece.values[i]},
             whole.largest);
    }
  }

  const Program& plan_;
  const Program& one_device_;
  NumberMode mode_;
  double tolerance_;
  int step_ = 0;
  ProofResult result_;
};

}  // namespace

std::string text_of(const ProofResult& result) {
  if (result.equal()) {
    return fmt::format("equal ({} numbers, worst relative difference {:.2g})", result.compared,
                       result.worst);
  }
  std::string text = fmt::format("different (worst {:.3g}):", result.worst);
  for (const Difference& d : result.differences) {
    text += fmt::format("\n  step {}: {}", d.step, d.what);
    if (!d.tensor.empty()) text += fmt::format(" of {} [{}]", d.tensor, d.index);
    if (d.rank >= 0) text += fmt::format(" on rank {}", d.rank);
    text += fmt::format(": expected {:.17g}, got {:.17g}", d.expected, d.got);
  }
  return text;
}

double fp32_bound(const Program& program) {
  constexpr double kRoundoff = 0x1p-24, kAllowed = 4.0, kGrowth = 1.03;
  std::int64_t longest = program.job.global_batch * program.job.sequence;
  int layers = 0;
  for (const Param& param : program.params) {
    longest = std::max({longest, param.rows, param.cols});
    layers = std::max(layers, param.layer + 1);
  }
  return kAllowed * std::sqrt(static_cast<double>(longest)) * kRoundoff * std::pow(kGrowth, layers);
}

ProofResult compare_records(const Executed& plan, const Executed& one_device, NumberMode mode) {
  Comparison comparison(plan.program, one_device.program, mode);
  for (std::size_t step = 0; step < plan.record.steps.size(); ++step) {
    comparison.step(static_cast<int>(step), plan.record.steps[step], one_device.record.steps[step]);
  }
  return comparison.take();
}

ProofResult compare(const Program& plan, const Program& one_device, NumberMode mode, int steps,
                    std::uint64_t seed) {
  const ExecutionOptions options{.mode = mode, .steps = steps, .seed = seed, .perturbation = {}};
  const ExecutionRecord of_plan = execute(plan, options);
  const ExecutionRecord of_one = execute(one_device, options);
  return compare_records({.program = plan, .record = of_plan},
                         {.program = one_device, .record = of_one}, mode);
}

}  // namespace windtunnel
