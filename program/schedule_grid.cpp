#include "program/schedule_grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "program/verify_facts.h"

namespace windtunnel {

namespace {

constexpr int kNotYet = -1;

/// Runs the passes of all roles as early as their inputs allow.
class Grid {
 public:
  Grid(const Program& program, GridCosts costs)
      : program_(program), facts_(program), costs_(costs), m_(program.job.micro_batches) {
    for (const Role& role : program.roles) {
      for (const Chunk& chunk : role.chunks) last_ = std::max(last_, chunk.global_chunk);
    }
    const auto n = static_cast<std::size_t>(last_ + 1) * static_cast<std::size_t>(m_);
    forward_end_.assign(n, kNotYet);
    backward_end_.assign(n, kNotYet);
    computes_.assign(static_cast<std::size_t>(last_ + 1), false);
    for (std::size_t r = 0; r < program.roles.size(); ++r) collect(r);
  }

  std::vector<std::vector<GridPass>> run() {
    std::vector<std::size_t> next(passes_.size(), 0);
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t r = 0; r < passes_.size(); ++r) {
        while (next[r] < passes_[r].size() && place(r, next[r])) {
          ++next[r];
          progress = true;
        }
      }
    }
    for (std::size_t r = 0; r < passes_.size(); ++r) passes_[r].resize(next[r]);
    return std::move(passes_);
  }

 private:
  void collect(std::size_t r) {
    passes_.emplace_back();
    for (const Call& call : program_.roles[r].calls) {
      const unsigned actions = facts_.segments[call.segment].actions;
      if ((actions & (kForward | kBackward | kWeightGrad)) == 0) continue;
      passes_.back().push_back({.backward = (actions & kForward) == 0,
                                .makes_input = (actions & kBackward) != 0,
                                .makes_weight = (actions & kWeightGrad) != 0,
                                .chunk = call.chunk,
                                .micro_batch = call.micro_batch});
      computes_[static_cast<std::size_t>(global_chunk(r, call.chunk))] = true;
    }
  }

  int global_chunk(std::size_t r, std::int16_t chunk) const {
    return program_.roles[r].chunks[static_cast<std::size_t>(chunk)].global_chunk;
  }

  int& end_of(std::vector<int>& ends, int g, std::int32_t micro_batch) const {
    return ends[static_cast<std::size_t>(g) * static_cast<std::size_t>(m_) +
                static_cast<std::size_t>(micro_batch)];
  }

  /// When the output of chunk `g` is there; chunks that compute nothing pass it on.
  int forward_ready(int g, std::int32_t micro_batch) {
    while (g >= 0 && !computes_[static_cast<std::size_t>(g)]) --g;
    return g < 0 ? 0 : end_of(forward_end_, g, micro_batch);
  }
  int backward_ready(int g, std::int32_t micro_batch) {
    while (g <= last_ && !computes_[static_cast<std::size_t>(g)]) ++g;
    return g > last_ ? 0 : end_of(backward_end_, g, micro_batch);
  }

  /// When what the pass reads is there. A weight gradient stands behind its own input gradient.
  int input_of(const GridPass& pass, int g) {
    if (!pass.backward) return forward_ready(g - 1, pass.micro_batch);
    const int own = forward_ready(g, pass.micro_batch);
    const int grad = pass.makes_input ? backward_ready(g + 1, pass.micro_batch)
                                      : end_of(backward_end_, g, pass.micro_batch);
    return std::min(own, grad) == kNotYet ? kNotYet : std::max(own, grad);
  }

  int slots_of(const GridPass& pass) const {
    if (!pass.backward) return costs_.forward;
    if (pass.makes_input && pass.makes_weight) return costs_.backward;
    return pass.makes_input ? costs_.input_grad : costs_.weight_grad;
  }

  /// Places a pass after the one before it; false when its input is not there yet.
  bool place(std::size_t r, std::size_t i) {
    GridPass& pass = passes_[r][i];
    const int g = global_chunk(r, pass.chunk);
    const int input = input_of(pass, g);
    if (input == kNotYet) return false;
    pass.begin = std::max(input, i == 0 ? 0 : passes_[r][i - 1].end);
    pass.end = pass.begin + slots_of(pass);
    if (!pass.backward || pass.makes_input)
      end_of(pass.backward ? backward_end_ : forward_end_, g, pass.micro_batch) = pass.end;
    return true;
  }

  const Program& program_;
  ProgramFacts facts_;
  GridCosts costs_;
  std::int64_t m_;
  int last_ = -1;                                // global chunk
  std::vector<int> forward_end_, backward_end_;  // by global chunk and micro-batch
  std::vector<bool> computes_;                   // by global chunk
  std::vector<std::vector<GridPass>> passes_;    // by role
};

/// a, b, .. z, then aa, ab, ..
std::string chunk_letters(int chunk, char first) {
  std::string text(1, static_cast<char>(first + chunk % 26));
  return chunk < 26 ? text : chunk_letters(chunk / 26 - 1, first) + text;
}

std::string cell_of(const GridPass& pass) {
  const bool weights_alone = pass.backward && !pass.makes_input;
  return std::to_string(pass.micro_batch) + (weights_alone ? "w" : "") +
         chunk_letters(pass.chunk, pass.backward ? 'A' : 'a');
}

}  // namespace

std::vector<std::vector<GridPass>> schedule_passes(const Program& program, GridCosts costs) {
  return Grid(program, costs).run();
}

std::string schedule_grid(const Program& program, GridCosts costs, int columns) {
  const std::vector<std::vector<GridPass>> passes = schedule_passes(program, costs);
  int slots = 0;
  std::size_t width = 2;
  for (const std::vector<GridPass>& row : passes) {
    for (const GridPass& pass : row) {
      slots = std::max(slots, pass.end);
      width = std::max(width, cell_of(pass).size());
    }
  }
  const int shown = std::min(slots, columns);
  std::string text;
  for (std::size_t r = 0; r < passes.size(); ++r) {
    std::vector<std::string> cells(static_cast<std::size_t>(shown), ".");
    for (const GridPass& pass : passes[r]) {
      for (int t = pass.begin; t < std::min(pass.end, shown); ++t)
        cells[static_cast<std::size_t>(t)] = t == pass.begin ? cell_of(pass) : "==";
    }
    text += fmt::format("rank {:<3}", r);
    for (const std::string& cell : cells) text += fmt::format(" {:>{}}", cell, width);
    text += slots > shown ? " ...\n" : "\n";
  }
  return text;
}

}  // namespace windtunnel
