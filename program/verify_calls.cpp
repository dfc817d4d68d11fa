// Does every chunk do its part of every micro-batch once, in order?

#include <fmt/format.h>

#include <array>

#include "program/verify_checks.h"

namespace windtunnel {

namespace {

struct ActionRow {
  Action action;
  const char* name;
};

constexpr std::array kActions{
    ActionRow{kReceiveInput, "the receive of its input"},
    ActionRow{kForward, "the forward"},
    ActionRow{kSendOutput, "the send of its output"},
    ActionRow{kReceiveGrad, "the receive of its gradient"},
    ActionRow{kBackward, "the backward"},
    ActionRow{kSendGrad, "the send of the input's gradient"},
    ActionRow{kWeightGrad, "the gradient of the weights"},
};

std::string text_of(unsigned actions) {
  std::string text;
  for (const ActionRow& row : kActions) {
    if ((actions & row.action) == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(row.name);
  }
  return text;
}

/// What one chunk must do for a micro-batch, and what must come before each action.
struct Duties {
  unsigned all = 0;
  std::array<std::uint8_t, 128> before{};  // by Action mask

  Duties(const Chunk& chunk, int last_global_chunk) {
    const bool previous = chunk.global_chunk > 0, next = chunk.global_chunk < last_global_chunk;
    // A chunk without layers passes its input on and computes nothing.
    const bool computes =
        chunk.layer_end > chunk.layer_begin || chunk.has_embedding || chunk.has_head;
    if (computes) all |= kForward | kBackward;
    // A head alone may have made its weight gradient in forward (the chunked loss does).
    if (chunk.layer_end > chunk.layer_begin) all |= kWeightGrad;
    if (previous) all |= kReceiveInput | kSendGrad;
    if (next) all |= kSendOutput | kReceiveGrad;
    for (unsigned mask = 0; mask < before.size(); ++mask) {
      unsigned needs = 0;
      if (mask & (kForward | kSendOutput)) needs |= kReceiveInput;
      if (mask & kSendOutput) needs |= kForward;
      if (mask & (kBackward | kSendGrad)) needs |= kReceiveInput | kForward | kReceiveGrad;
      if (mask & (kSendGrad | kWeightGrad)) needs |= kBackward;
      before[mask] = static_cast<std::uint8_t>(needs & all & ~mask);
    }
  }
};

/// Calls of one chunk that run forward, and that make gradients.
struct Passes {
  std::vector<std::size_t> forward, gradients;
};

class RoleCalls {
 public:
  RoleCalls(const ProgramFacts& facts, std::size_t role, int last_global_chunk)
      : facts_(facts), role_(role), program_(facts.program), m_(facts.program.job.micro_batches) {
    const std::vector<Chunk>& chunks = program_.roles[role].chunks;
    for (const Chunk& chunk : chunks) duties_.emplace_back(chunk, last_global_chunk);
    done_.assign(chunks.size() * static_cast<std::size_t>(m_), 0);
    passes_.resize(chunks.size());
  }

  void check(Violations& v) {
    const std::vector<Call>& calls = program_.roles[role_].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const unsigned actions = facts_.segments[calls[i].segment].actions;
      if (actions == 0) continue;
      if (calls[i].chunk < 0) {
        v.add(call_text(program_, role_, i) + " does " + text_of(actions) + " for no chunk");
        continue;
      }
      check_call(i, actions, v);
    }
    for (const Passes& passes : passes_) {
      check_flags(passes.forward, v);
      check_flags(passes.gradients, v);
    }
    for (std::size_t n = 0; n < done_.size(); ++n) {
      const std::size_t chunk = n / static_cast<std::size_t>(m_);
      if (!is_of_copy(chunk, static_cast<std::int64_t>(n) % m_)) continue;
      const unsigned missing = duties_[chunk].all & ~static_cast<unsigned>(done_[n]);
      if (missing != 0)
        v.add(fmt::format("role {} chunk {} micro-batch {} lacks {}", role_, chunk,
                          n % static_cast<std::size_t>(m_), text_of(missing)));
    }
  }

 private:
  /// Every copy of the model has as many micro-batches, one after the other.
  bool is_of_copy(std::size_t chunk, std::int64_t micro_batch) const {
    const std::int64_t each = m_ / program_.job.model_copies;
    return micro_batch / each == program_.roles[role_].chunks[chunk].copy;
  }

  void check_call(std::size_t i, unsigned actions, Violations& v) {
    const Call& call = program_.roles[role_].calls[i];
    const Duties& duties = duties_[static_cast<std::size_t>(call.chunk)];
    if (!is_of_copy(static_cast<std::size_t>(call.chunk), call.micro_batch))
      v.add(call_text(program_, role_, i) + " does " + text_of(actions) +
            " for a micro-batch of the other copy of the model");
    std::uint8_t& done = done_[static_cast<std::size_t>(call.chunk * m_ + call.micro_batch)];
    if ((done & actions) != 0)
      v.add(call_text(program_, role_, i) + " repeats " + text_of(done & actions));
    const unsigned foreign = actions & ~duties.all & ~unsigned{kWeightGrad};
    if (foreign != 0)
      v.add(call_text(program_, role_, i) + " does " + text_of(foreign) +
            ", which its chunk has not");
    const unsigned missing = duties.before[actions] & ~static_cast<unsigned>(done);
    if (missing != 0)
      v.add(call_text(program_, role_, i) + " does " + text_of(actions) + " before " +
            text_of(missing));
    done = static_cast<std::uint8_t>(done | actions);
    if (facts_.segments[call.segment].hands_over) note_hand_over(i, actions, v);
    Passes& passes = passes_[static_cast<std::size_t>(call.chunk)];
    if ((actions & kForward) != 0) passes.forward.push_back(i);
    if ((actions & (kBackward | kWeightGrad)) != 0) passes.gradients.push_back(i);
  }

  /// What one chunk hands over another of this rank has received.
  void note_hand_over(std::size_t i, unsigned actions, Violations& v) {
    const Role& role = program_.roles[role_];
    const Call& call = role.calls[i];
    const bool forward = (actions & kSendOutput) != 0;
    const int to =
        role.chunks[static_cast<std::size_t>(call.chunk)].global_chunk + (forward ? 1 : -1);
    const auto action = static_cast<std::uint8_t>(forward ? kReceiveInput : kReceiveGrad);
    for (std::size_t c = 0; c < role.chunks.size(); ++c) {
      if (role.chunks[c].global_chunk != to) continue;
      std::uint8_t& done =
          done_[c * static_cast<std::size_t>(m_) + static_cast<std::size_t>(call.micro_batch)];
      if ((done & action) != 0)
        v.add(call_text(program_, role_, i) + " repeats " + text_of(action));
      done = static_cast<std::uint8_t>(done | action);
      return;
    }
    v.add(call_text(program_, role_, i) + " hands over to a chunk that is not on its rank");
  }

  /// The first of these calls is marked as the first, the last as the last, no other.
  void check_flags(const std::vector<std::size_t>& calls, Violations& v) const {
    for (std::size_t n = 0; n < calls.size(); ++n) {
      const Call& call = program_.roles[role_].calls[calls[n]];
      const bool first = n == 0, last = n + 1 == calls.size();
      if (call.first_micro_batch != first)
        v.add(fmt::format("{} is number {} of its chunk and is {}marked as the first",
                          call_text(program_, role_, calls[n]), n, first ? "not " : ""));
      if (call.last_micro_batch != last)
        v.add(fmt::format("{} is number {} of {} of its chunk and is {}marked as the last",
                          call_text(program_, role_, calls[n]), n, calls.size(),
                          last ? "not " : ""));
    }
  }

  const ProgramFacts& facts_;
  std::size_t role_;
  const Program& program_;
  std::int64_t m_;
  std::vector<Duties> duties_;
  std::vector<std::uint8_t> done_;  // Action bits by chunk and micro-batch
  std::vector<Passes> passes_;      // by chunk
};

}  // namespace

std::vector<std::string> check_calls(const ProgramFacts& facts) {
  Violations v;
  int last = -1;
  std::size_t count = 0;
  for (const Role& role : facts.program.roles) {
    for (const Chunk& chunk : role.chunks) last = std::max(last, chunk.global_chunk);
    count += role.chunks.size();
  }
  const int copies = facts.program.job.model_copies;
  if (count != static_cast<std::size_t>(last + 1) * static_cast<std::size_t>(copies))
    v.add(fmt::format("{} chunks for {} of the model's parts 0 to {}", count, copies, last));
  for (std::size_t r = 0; r < facts.program.roles.size(); ++r) RoleCalls(facts, r, last).check(v);
  return v.take();
}

}  // namespace windtunnel
