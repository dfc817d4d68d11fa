#pragma once
// A program of one pipeline rank, made by hand: statics, frames of given sizes per chunk, scratch
// in between, an optimizer call, in 1F1B, interleaved or forward-then-backward order.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"

namespace windtunnel::test {

struct TinyPipeline {
  std::vector<std::int64_t> statics{1000};  // bytes of weights
  std::vector<std::int64_t> kept{4000};     // bytes of each tensor a frame keeps, per chunk
  std::vector<std::int64_t> scratch{};      // taken and given back inside each call, nested
  std::int64_t optimizer_states = 0;        // taken in the first step only, kept
  std::int64_t optimizer_scratch = 0;       // in every optimizer call
  bool gemm = false;                        // a matrix product in every forward and backward
  int chunks = 1, micro_batches = 4, pp = 1, rank = 0, group = 1;
  enum class Order { one_f_one_b, interleaved, all_forward } order = Order::one_f_one_b;
};

class TinyPipelineBuilder {
 public:
  explicit TinyPipelineBuilder(const TinyPipeline& spec) : spec_(spec) {}

  Program build() {
    program_.roles.emplace_back();
    role().pipeline_rank = spec_.rank;
    program_.mesh.pp = spec_.pp;
    program_.shapes.push_back({.kernel = Kernel::gemm_fwd});
    for (int c = 0; c < spec_.chunks; ++c) role().chunks.push_back({.global_chunk = c});
    add_slots();
    const std::uint32_t startup = segment("startup", [&] {
      for (const SlotId slot : statics_) op(OpKind::alloc, slot, Phase::startup);
    });
    std::vector<std::uint32_t> forward, backward;
    for (int c = 0; c < spec_.chunks; ++c) {
      forward.push_back(segment("forward", [&] { add_forward(c); }));
      backward.push_back(segment("backward", [&] { add_backward(c); }));
    }
    const std::uint32_t optimizer = segment("optimizer", [&] { add_optimizer(); });
    role().prologue.push_back({.segment = startup});
    add_calls(forward, backward);
    role().calls.push_back({.segment = optimizer});
    return std::move(program_);
  }

 private:
  Role& role() { return program_.roles.back(); }

  SlotId slot(const std::string& name, std::int64_t bytes, Space space, Category category,
              int chunk) {
    program_.names.push_back(name);
    role().slots.push_back({.elements = bytes,
                            .dtype = Dtype::uint8,
                            .space = space,
                            .category = category,
                            .chunk = static_cast<std::int16_t>(chunk),
                            .name = static_cast<std::uint32_t>(program_.names.size() - 1)});
    return static_cast<SlotId>(role().slots.size() - 1);
  }

  void add_slots() {
    for (std::size_t i = 0; i < spec_.statics.size(); ++i) {
      statics_.push_back(slot("weights " + std::to_string(i), spec_.statics[i], Space::statics,
                              Category::weights, -1));
    }
    frames_.resize(static_cast<std::size_t>(spec_.chunks));
    for (int c = 0; c < spec_.chunks; ++c) {
      for (std::size_t i = 0; i < spec_.kept.size(); ++i) {
        frames_[static_cast<std::size_t>(c)].push_back(slot(
            "kept " + std::to_string(i), spec_.kept[i], Space::frame, Category::activations, c));
      }
    }
    for (std::size_t i = 0; i < spec_.scratch.size(); ++i) {
      scratch_.push_back(slot("scratch " + std::to_string(i), spec_.scratch[i], Space::scratch,
                              Category::activations, -1));
    }
    states_ =
        slot("states", spec_.optimizer_states, Space::statics, Category::optimizer_states, -1);
    optimizer_scratch_ =
        slot("optimizer scratch", spec_.optimizer_scratch, Space::scratch, Category::workspace, -1);
  }

  template <class Fill>
  std::uint32_t segment(const std::string& name, Fill fill) {
    program_.names.push_back(name);
    const auto name_id = static_cast<std::uint32_t>(program_.names.size() - 1);
    const auto begin = static_cast<std::uint32_t>(program_.ops.size());
    fill();
    program_.segments.push_back({.name = name_id,
                                 .op_begin = begin,
                                 .op_end = static_cast<std::uint32_t>(program_.ops.size())});
    return static_cast<std::uint32_t>(program_.segments.size() - 1);
  }

  void op(OpKind kind, SlotId slot_id, Phase phase, When when = When::always) {
    program_.ops.push_back({.kind = kind,
                            .phase = phase,
                            .when = when,
                            .refs = 1,
                            .ref_begin = static_cast<std::uint32_t>(program_.refs.size())});
    program_.refs.push_back(slot_id);
  }

  void matrix_product(Phase phase) {
    if (!spec_.gemm) return;
    program_.ops.push_back({.kind = OpKind::compute, .phase = phase, .shape = 0});
  }

  void use_scratch(Phase phase) {
    for (const SlotId s : scratch_) op(OpKind::alloc, s, phase);
    matrix_product(phase);
    for (auto s = scratch_.rbegin(); s != scratch_.rend(); ++s) op(OpKind::free, *s, phase);
  }

  void add_forward(int chunk) {
    for (const SlotId s : frames_[static_cast<std::size_t>(chunk)]) {
      op(OpKind::alloc, s, Phase::forward);
      use_scratch(Phase::forward);
    }
  }

  void add_backward(int chunk) {
    const std::vector<SlotId>& frame = frames_[static_cast<std::size_t>(chunk)];
    for (auto s = frame.rbegin(); s != frame.rend(); ++s) {
      use_scratch(Phase::backward);
      op(OpKind::free, *s, Phase::backward);
    }
  }

  void add_optimizer() {
    op(OpKind::alloc, states_, Phase::optimizer, When::first_step);
    op(OpKind::alloc, optimizer_scratch_, Phase::optimizer);
    op(OpKind::free, optimizer_scratch_, Phase::optimizer);
  }

  /// Megatron's orders (arXiv 2104.04473): virtual micro-batch k of a rank, in groups of `group`.
  void add_calls(const std::vector<std::uint32_t>& forward,
                 const std::vector<std::uint32_t>& backward) {
    const int chunks = spec_.chunks, total = spec_.micro_batches * chunks;
    const bool interleaved = spec_.order == TinyPipeline::Order::interleaved;
    const int group = interleaved ? spec_.group : 1;
    int warm_up = std::min(spec_.pp - 1 - spec_.rank, total);
    if (interleaved) {
      warm_up = std::min(2 * (spec_.pp - 1 - spec_.rank) + (chunks - 1) * group, total);
    }
    if (spec_.order == TinyPipeline::Order::all_forward) warm_up = total;
    const auto add = [&](const std::vector<std::uint32_t>& segments, int k, bool reversed) {
      const int chunk = (k / group) % chunks;
      const int placed = reversed ? chunks - 1 - chunk : chunk;
      const int micro_batch = k / (group * chunks) * group + k % group;
      role().calls.push_back({.segment = segments[static_cast<std::size_t>(placed)],
                              .chunk = static_cast<std::int16_t>(placed),
                              .micro_batch = micro_batch,
                              .first_micro_batch = micro_batch == 0,
                              .last_micro_batch = micro_batch == spec_.micro_batches - 1});
    };
    for (int k = 0; k < warm_up; ++k) add(forward, k, false);
    for (int k = warm_up; k < total; ++k) {
      add(forward, k, false);
      add(backward, k - warm_up, true);
    }
    for (int k = total - warm_up; k < total; ++k) add(backward, k, true);
  }

  TinyPipeline spec_;
  Program program_;
  std::vector<SlotId> statics_, scratch_;
  std::vector<std::vector<SlotId>> frames_;
  SlotId states_ = 0, optimizer_scratch_ = 0;
};

inline Program tiny_pipeline(const TinyPipeline& spec) {
  return TinyPipelineBuilder(spec).build();
}

}  // namespace windtunnel::test
