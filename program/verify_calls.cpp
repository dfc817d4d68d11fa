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
  std::array<std::uint8_t, 64> before{};  // by Action mask

  Duties(const Chunk& chunk, int last_global_chunk) {
    const bool previous = chunk.global_chunk > 0, next = chunk.global_chunk < last_global_chunk;
    // A chunk without layers passes its input on and computes nothing.
    const bool computes =
        chunk.layer_end > chunk.layer_begin || chunk.has_embedding || chunk.has_head;
    if (computes) all |= kForward | kBackward;
    if (previous) all |= kReceiveInput | kSendGrad;
    if (next) all |= kSendOutput | kReceiveGrad;
    for (unsigned mask = 0; mask < before.size(); ++mask) {
      unsigned needs = 0;
      if (mask & (kForward | kSendOutput)) needs |= kReceiveInput;
      if (mask & kSendOutput) needs |= kForward;
      if (mask & (kBackward | kSendGrad)) needs |= kReceiveInput | kForward | kReceiveGrad;
      if (mask & kSendGrad) needs |= kBackward;
      before[mask] = static_cast<std::uint8_t>(needs & all & ~mask);
    }
  }
};

struct Passes {
  std::int64_t forward = 0, backward = 0;  // of one chunk, so far
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
    for (std::size_t n = 0; n < done_.size(); ++n) {
      const std::size_t chunk = n / static_cast<std::size_t>(m_);
      const unsigned missing = duties_[chunk].all & ~static_cast<unsigned>(done_[n]);
      if (missing != 0)
        v.add(fmt::format("role {} chunk {} micro-batch {} lacks {}", role_, chunk,
                          n % static_cast<std::size_t>(m_), text_of(missing)));
    }
  }

 private:
  void check_call(std::size_t i, unsigned actions, Violations& v) {
    const Call& call = program_.roles[role_].calls[i];
    const Duties& duties = duties_[static_cast<std::size_t>(call.chunk)];
    std::uint8_t& done = done_[static_cast<std::size_t>(call.chunk * m_ + call.micro_batch)];
    if ((done & actions) != 0)
      v.add(call_text(program_, role_, i) + " repeats " + text_of(done & actions));
    if ((actions & ~duties.all) != 0)
      v.add(call_text(program_, role_, i) + " does " + text_of(actions & ~duties.all) +
            ", which its chunk has not");
    const unsigned missing = duties.before[actions] & ~static_cast<unsigned>(done);
    if (missing != 0)
      v.add(call_text(program_, role_, i) + " does " + text_of(actions) + " before " +
            text_of(missing));
    done = static_cast<std::uint8_t>(done | actions);
    Passes& passes = passes_[static_cast<std::size_t>(call.chunk)];
    if ((actions & kForward) != 0) check_flags(i, passes.forward++, v);
    if ((actions & kBackward) != 0) check_flags(i, passes.backward++, v);
  }

  void check_flags(std::size_t i, std::int64_t ordinal, Violations& v) const {
    const Call& call = program_.roles[role_].calls[i];
    const bool first = ordinal == 0, last = ordinal == m_ - 1;
    if (call.first_micro_batch != first)
      v.add(fmt::format("{} is number {} of its chunk and is {}marked as the first",
                        call_text(program_, role_, i), ordinal, first ? "not " : ""));
    if (call.last_micro_batch != last)
      v.add(fmt::format("{} is number {} of {} of its chunk and is {}marked as the last",
                        call_text(program_, role_, i), ordinal, m_, last ? "not " : ""));
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
  if (count != static_cast<std::size_t>(last + 1))
    v.add(fmt::format("{} chunks for the model's parts 0 to {}", count, last));
  for (std::size_t r = 0; r < facts.program.roles.size(); ++r) RoleCalls(facts, r, last).check(v);
  return v.take();
}

}  // namespace windtunnel
